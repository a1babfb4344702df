package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"wiretime/flowcontrol"
	"wiretime/needtest"
	"wiretime/study"
	"wiretime/window"
)

const today = `name: today
repeats: 1
clock: virtual
matrix:
  sites: [objects@1x5kB]
  protocols: [h2, h3]
  networks: [{name: near, rate: 20mbit, rtt: 20ms, queue: unlimited}]
  loaders: [builtin, chromium, firefox]
  servers: [wiretime, nginx, caddy]
  except:
    - {loader: [chromium, firefox], server: [nginx, caddy]}
    - {protocol: h3, server: nginx}
`

// TestPresetsOfToday holds the presets of today's browsers and servers to the windows that the programs announce.
func TestPresetsOfToday(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	needFirefox(t)
	needChromium(t)
	for _, server := range []string{"nginx", "caddy"} {
		_, err := exec.LookPath(server)
		needtest.Program(t, server, err)
	}
	u := self(t)
	u.addKernel(t)
	u.runs(t, 0, "run", u.write(t, "study.yaml", today), "--store", "kept")
	compared := 0
	for _, l := range loadsIn(t, filepath.Join(u.home, "kept")) {
		protocol, preset, side := l.Cell.On(study.AxisProtocol), l.Cell.On(study.AxisLoader), flowcontrol.Client
		if preset == "builtin" {
			preset, side = l.Cell.On(study.AxisServer), flowcontrol.Server
		}
		if preset == study.ServerOwn {
			continue
		}
		compared++
		t.Run(preset+" "+protocol, func(t *testing.T) {
			setting, err := window.Parse(preset)
			if err != nil {
				t.Fatal(err)
			}
			want, err := setting.Over(protocol)
			if err != nil {
				t.Fatal(err)
			}
			connections, err := readConnections(l)
			if err != nil || len(connections) == 0 {
				t.Fatalf("%d connections, %v", len(connections), err)
			}
			stream, connection := announced(t, connections[0], side)
			if stream != int64(want.Stream) || connection != int64(want.Connection) {
				t.Errorf("it announces %d for a stream and %d for the connection, the preset says %d and %d", stream, connection, want.Stream, want.Connection)
			}
		})
	}
	if compared != 7 {
		t.Errorf("%d loads were compared, want 7", compared)
	}
}

// announced returns the windows that an end granted for the first request's stream and for the connection before DATA came.
func announced(t *testing.T, c *flowcontrol.Connection, side flowcontrol.Side) (stream, connection int64) {
	t.Helper()
	stream, connection = 65535, 65535 // RFC 9113 section 6.9.2
	first := uint64(0)
	for _, e := range c.Events {
		if e.Kind == "HEADERS" && first == 0 {
			first = e.Stream
		}
		if e.Kind == "DATA" {
			break
		}
		if e.Sender != side {
			continue
		}
		switch e.Kind {
		case "SETTINGS":
			if _, value, found := strings.Cut(e.Detail, "INITIAL_WINDOW_SIZE "); found {
				scan(t, value, "%d", &stream)
			}
		case "TRANSPORT_PARAMETERS":
			var local, remote int64
			scan(t, e.Detail, "initial_max_data %d, initial_max_stream_data_bidi_local %d, bidi_remote %d", &connection, &local, &remote)
			return [...]int64{flowcontrol.Client: local, flowcontrol.Server: remote}[side], connection
		case "WINDOW_UPDATE":
			switch {
			case !e.OnStream:
				connection += e.Delta
			case e.Stream == first:
				stream += e.Delta
			}
		}
	}
	return stream, connection
}

func scan(t *testing.T, text, format string, values ...any) {
	t.Helper()
	if _, err := fmt.Sscanf(text, format, values...); err != nil {
		t.Fatalf("read %q: %v", text, err)
	}
}
