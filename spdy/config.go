package spdy

import "time"

// Config says how a session behaves. The zero value, and nil, are as the drafts
// recommend.
type Config struct {
	// Window is the receive window.
	Window Window
	// MaxStreams is how many streams the peer may have open at a time: 1 to
	// 2^31-1, 0 for 100. It is announced. Streams above it are refused.
	MaxStreams int
	// MaxHeaderBytes and MaxHeaderFields limit the header blocks of the peer,
	// inflated: 0 for DefaultMaxHeaderBytes and DefaultMaxHeaderFields. Beyond
	// them a block costs its stream, beyond four times MaxHeaderBytes the session.
	MaxHeaderBytes  int
	MaxHeaderFields int
	// MaxFrameBytes is the longest control frame that is read: 8192 (draft 3
	// section 2.2.1) to 2^24-1, 0 for 65,536. A longer one ends the session.
	MaxFrameBytes int
	// DataBytes is the longest payload of the DATA frames that are sent, 1 to
	// 2^24-1; 0 for 16,384.
	DataBytes int
	// Compression is that of the header blocks that are sent.
	Compression Compression
	// ReadTimeout is the longest that the peer may keep a read waiting: in the
	// middle of a frame, and, to a server, in the middle of a stream. 0 for one
	// minute, negative for no limit.
	ReadTimeout time.Duration
	// WriteTimeout is the longest that the peer may keep a write waiting, by not
	// reading from its connection or by giving back no window. 0 for one minute,
	// negative for no limit.
	WriteTimeout time.Duration
	// IdleTimeout is how long a session without streams stays open: 0 for five
	// minutes, negative for no limit.
	IdleTimeout time.Duration
	// Accept takes each stream that the peer opens, in a goroutine of its own. The
	// stream is reset when it returns, unless both sides have ended it. Without
	// Accept, streams of the peer are refused.
	Accept func(*Stream)
	// Arrived is told of the same streams before that, in the order of arrival, and
	// before what comes behind them is read. It is for who has to know what was pushed
	// by the time that something asks for it. The session's lock is held: it must not
	// wait, nor use the session or the stream, but for its Fields.
	Arrived func(*Stream)
	// Settings are sent at the beginning, beside those that the fields above say.
	Settings []Setting
	// Persisted are what the server of a former session asked to be kept
	// (Session.Persisted), to be given back to it. For clients.
	Persisted []Setting
	// Log is told of each frame; nil for no log.
	Log *FrameLog
}

// withDefaults is a copy of c in which nothing is left to say.
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
