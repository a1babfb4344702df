package window

import "wiretime/spdy"

// Preset describes how an implementation behaves as a receiver.
type Preset struct {
	Name string
	// Source names the source of the figures.
	Source string
	// SPDY, HTTP2 and HTTP3 describe the receiver over these protocols; nil if the implementation
	// lacks the protocol.
	SPDY, HTTP2, HTTP3 *Receiver
}

// Presets returns all presets: those of SPDY's time, then those of today.
func Presets() []Preset {
	return []Preset{
		{
			Name:   "draft",
			Source: "SPDY draft 3, section 2.6.8: 64 KiB; when to update is left to the receiver, here once more than half was read",
			SPDY:   &Receiver{Stream: 64 << 10, Connection: 64 << 10},
		}, {
			Name:   "mod_spdy",
			Source: "mod_spdy 0.9.4, mod_spdy/common/spdy_stream.cc; Kim et al. (2013), figures 3 and 4",
			SPDY:   &Receiver{Stream: 64 << 10, Connection: 64 << 10, Update: spdy.UpdateEighth},
		}, {
			Name:   "google-2013",
			Source: "Google's servers as Kim et al. (2013) saw them, figures 5 and 6: SETTINGS in answer to SETTINGS, and the rest as in figure 4",
			SPDY:   &Receiver{Stream: 1 << 20, Connection: 1 << 20, Update: spdy.UpdateEighth, Answers: true},
		}, {
			Name:   "chromium-2013",
			Source: "Chromium 26 to 30, net/spdy/spdy_session.h (kDefaultInitialRecvWindowSize) and spdy_stream.cc (IncreaseRecvWindowSize); Kim et al. (2013), figures 3 to 6",
			SPDY:   &Receiver{Stream: 10 << 20, Connection: 10 << 20},
		}, {
			Name:   "chromium",
			Source: "Chromium 156, net/http/http_network_session.cc (kSpdyStreamMaxRecvWindowSize, kSpdySessionMaxRecvWindowSize), net/quic/quic_context.cc, and quic_constants.h for what QUIC's windows grow to",
			HTTP2:  &Receiver{Stream: 6 << 20, Connection: 15 << 20},
			HTTP3:  &Receiver{Stream: 6 << 20, Connection: 15 << 20, MostStream: 16 << 20, MostConnection: 24 << 20},
		}, {
			Name:   "firefox",
			Source: "Firefox 153, modules/libpref/init/StaticPrefList.yaml (network.http.http2.pull-allowance, network.http.http3.max_data and max_stream_data)",
			HTTP2:  &Receiver{Stream: 12 << 20, Connection: 12 << 20},
			HTTP3:  &Receiver{Stream: 12 << 20, Connection: 24 << 20},
		}, {
			Name:   "nginx",
			Source: "nginx 1.22, src/http/v2/ngx_http_v2_module.c (http2_body_preread_size) and ngx_http_v2.c (NGX_HTTP_V2_MAX_WINDOW); it raises a stream's window to the largest once a handler reads the body, which net/http does not, so uploads are slower here than to nginx",
			HTTP2:  &Receiver{Stream: 64 << 10, Connection: Largest},
		}, {
			Name:   "caddy",
			Source: "Caddy 2.6, which serves with net/http's HTTP/2 (http2/server.go) and quic-go (internal/protocol/params.go)",
			HTTP2:  &Receiver{Stream: 1 << 20, Connection: 1 << 20},
			HTTP3:  &Receiver{Stream: 512 << 10, Connection: 768 << 10, MostStream: 6 << 20, MostConnection: 15 << 20},
		},
	}
}

// Names returns the names of all presets.
func Names() []string {
	var names []string
	for _, p := range Presets() {
		names = append(names, p.Name)
	}
	return names
}

func (p *Preset) receiver(family string) *Receiver {
	return map[string]*Receiver{spdy3: p.SPDY, http2: p.HTTP2, http3: p.HTTP3}[family]
}

// families returns the protocols that the preset has.
func (p *Preset) families() []string {
	var names []string
	for _, family := range []string{spdy3, http2, http3} {
		if p.receiver(family) != nil {
			names = append(names, family)
		}
	}
	return names
}
