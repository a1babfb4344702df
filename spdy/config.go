package spdy

import "time"

// Config says how a session behaves. The zero value and nil follow the drafts'
// recommendations.
type Config struct {
	// Window is the receive window.
	Window Window
	// MaxStreams is how many streams the peer may have open at a time: 1 to
	// 2^31-1, 0 for 100. The session announces it, and refuses further streams.
	MaxStreams int
	// MaxHeaderBytes and MaxHeaderFields limit the peer's inflated header blocks:
	// 0 for DefaultMaxHeaderBytes and DefaultMaxHeaderFields. A block beyond them
	// resets its stream; beyond four times MaxHeaderBytes it ends the session.
	MaxHeaderBytes  int
	MaxHeaderFields int
	// MaxFrameBytes is the longest control frame that is accepted: 8192 (draft
	// 3 section 2.2.1) to 2^24-1, 0 for 65,536. A longer one ends the session.
	MaxFrameBytes int
	// DataBytes is the longest payload of sent DATA frames, 1 to 2^24-1; 0 for
	// 16,384.
	DataBytes int
	// Compression says how sent header blocks are compressed.
	Compression Compression
	// EqualTurns ignores the priorities of streams: each stream that has data to send gets its turn in the order in which
	// it got ready.
	EqualTurns bool
	// ReadTimeout is how long a read may wait for the peer: in the middle of a
	// frame, of which 1,024 octets at least must arrive in that time, and, on a
	// server, in the middle of a stream. It is also how long a client of Server may
	// go on sending a request after its response. 0 for one minute, negative for no
	// limit.
	ReadTimeout time.Duration
	// WriteTimeout is how long a write may wait for the peer to read from its
	// connection or to reopen the window by 1,024 octets. 0 for one minute,
	// negative for no limit.
	WriteTimeout time.Duration
	// IdleTimeout is how long a session without streams stays open: 0 for five
	// minutes, negative for no limit.
	IdleTimeout time.Duration
	// Accept handles each stream that the peer opens, in a goroutine of its own.
	// When it returns, the stream is reset unless both sides have ended it.
	// Without Accept, the peer's streams are refused.
	Accept func(*Stream)
	// Arrived is called for the same streams before that, in the order of arrival, and
	// before anything after them is read. It is for callers that must know what was
	// pushed before something requests it. The session's lock is held: Arrived must
	// not wait, nor use the session or the stream, except for its Fields.
	Arrived func(*Stream)
	// Settings are sent at the start, in addition to those that the fields above
	// imply.
	Settings []Setting
	// Persisted are the settings that the server of an earlier session asked to
	// keep (Session.Persisted), to be returned to it. For clients.
	Persisted []Setting
	// AnswerSettings delays the session's first SETTINGS, and with them its windows, until the
	// peer's SETTINGS have arrived. Until then its windows are the drafts' 65,536 octets. Google's
	// servers did so. If both peers do so, neither ever sends SETTINGS.
	AnswerSettings bool
	// Log receives each frame; nil for no log.
	Log *FrameLog

	ended func() // is called once both loops have ended
}

// withDefaults returns a copy of c with all defaults filled in.
func (c *Config) withDefaults() Config {
	var d Config
	if c != nil {
		d = *c
	}
	size := func(p *int, preset, least, most int) {
		if *p == 0 {
			*p = preset
		}
		*p = min(max(*p, least), most)
	}
	size(&d.Window.Stream, defaultWindow, 1, maxWindow)
	size(&d.Window.Session, defaultWindow, 1, maxWindow)
	size(&d.MaxStreams, 100, 1, maxStreamID)
	size(&d.MaxHeaderBytes, DefaultMaxHeaderBytes, 1, maxLength)
	size(&d.MaxHeaderFields, DefaultMaxHeaderFields, 1, maxLength)
	size(&d.MaxFrameBytes, 64<<10, 8192, maxLength)
	size(&d.DataBytes, 16<<10, 1, maxLength)
	duration := func(p *time.Duration, preset time.Duration) {
		if *p == 0 {
			*p = preset
		}
	}
	duration(&d.ReadTimeout, time.Minute)
	duration(&d.WriteTimeout, time.Minute)
	duration(&d.IdleTimeout, 5*time.Minute)
	return d
}
