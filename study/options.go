package study

import (
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// Options are what holds for every load of a study.
type Options struct {
	DNS       string        // DNSEmulated or DNSInstant
	LateLimit time.Duration // the most a load's 99th percentile of packet lateness may be
	Retries   int           // further attempts at an invalid or failed load
	Timeout   time.Duration // of one load
	ThinkTime time.Duration // between the pages of a journey: from the end of one until navigation to the next
	Fallback  string        // FallbackNone or FallbackH2

	// ServerWait has servers take as long for each answer as they did when the site was
	// recorded, OriginRTT has them be as much farther away than the nearest as they were.
	ServerWait, OriginRTT bool
	// Freeze has scripts find the time at which the site was recorded, and the same random
	// numbers in each load.
	Freeze bool

	// TCPRmem and TCPWmem are net.ipv4.tcp_rmem and tcp_wmem of both hosts, in
	// bytes: minimum, default, maximum.
	TCPRmem, TCPWmem [3]int
	// CPU is the main thread of the built-in loader.
	CPU CPU

	Stream *Stream // of a study of streams; nil for pages
}

// CPU is what work on a page costs the built-in loader, which runs no scripts: so long for
// each 1000 octets of HTML, style sheet and script, or for a script that was recorded as
// long as it took then, all of it times Scale. The zero value is no cost at all.
type CPU struct {
	Parse, Style, Script time.Duration
	Scale                float64
}

// The two kinds of name look-up.
const (
	DNSEmulated = "emulated" // a resolver behind the emulated path
	DNSInstant  = "instant"  // names are known beforehand
)

// What an origin is fetched over that cannot be reached over UDP, in a load over
// HTTP/3.
const (
	FallbackNone = "none" // over nothing: its resources fail
	FallbackH2   = "h2"
)

// recorded is what an option says that is to be as it was when the site was recorded.
const recorded = "recorded"

// defaults are the options of a study that gives none. The TCP buffers are
// those Linux gives a machine with enough memory (Documentation/networking/
// ip-sysctl.rst), so that a small machine measures the same.
var defaults = Options{
	DNS:       DNSEmulated,
	LateLimit: time.Millisecond,
	Retries:   2,
	Timeout:   120 * time.Second,
	Fallback:  FallbackNone,
	TCPRmem:   [3]int{4096, 131072, 6291456},
	TCPWmem:   [3]int{4096, 16384, 4194304},
}

const (
	maxRetries = 100
	maxScale   = 1000
)

func (r *reader) options(n ast.Node, o *Options) {
	m, ok := r.mapping(n, "options", "dns", "late_limit", "retries", "timeout", "think_time", "fallback",
		"server_wait", "origin_rtt", "freeze", "cpu", "tcp_rmem", "tcp_wmem")
	if !ok {
		return
	}
	if o.Stream != nil {
		m.refuse()
	}
	if n, ok := m.get("dns"); ok {
		o.DNS = r.word(n, "kind of dns", []string{DNSEmulated, DNSInstant})
	}
	m.limit("late_limit", &o.LateLimit)
	m.limit("timeout", &o.Timeout)
	if n, ok := m.get("retries"); ok {
		o.Retries, _ = r.integer(n, "retries", 0, maxRetries)
	}
	if n, ok := m.get("think_time"); ok {
		o.ThinkTime, _ = r.duration(n, "think_time")
	}
	if n, ok := m.get("fallback"); ok {
		o.Fallback = r.word(n, "fallback", []string{FallbackNone, FallbackH2})
	}
	if n, ok := m.get("server_wait"); ok {
		o.ServerWait = r.word(n, "server_wait", []string{"none", recorded}) == recorded
	}
	if n, ok := m.get("origin_rtt"); ok {
		o.OriginRTT = r.word(n, "origin_rtt", []string{"same", recorded}) == recorded
	}
	if n, ok := m.get("freeze"); ok {
		o.Freeze = r.boolean(n, "freeze")
	}
	if n, ok := m.get("cpu"); ok {
		o.CPU = r.cpu(n)
	}
	if n, ok := m.get("tcp_rmem"); ok {
		r.tcpBuffer(n, "tcp_rmem", &o.TCPRmem)
	}
	if n, ok := m.get("tcp_wmem"); ok {
		r.tcpBuffer(n, "tcp_wmem", &o.TCPWmem)
	}
}

// cpu reads the model of the main thread.
func (r *reader) cpu(n ast.Node) CPU {
	c := CPU{Scale: 1}
	m, ok := r.mapping(n, "cpu", "parse", "style", "script", "scale")
	if !ok {
		return c
	}
	for _, rate := range []struct {
		key string
		to  *time.Duration
	}{{"parse", &c.Parse}, {"style", &c.Style}, {"script", &c.Script}} {
		if n, ok := m.get(rate.key); ok {
			*rate.to, _ = r.duration(n, rate.key)
		}
	}
	if n, ok := m.get("scale"); ok {
		text, _ := r.text(n, "scale")
		scale, err := strconv.ParseFloat(text, 64)
		if err != nil || scale <= 0 || scale > maxScale {
			r.fail(n, "scale is %.40q; write a number above 0, at most %d", text, maxScale)
		}
		c.Scale = scale
	}
	return c
}

// limit reads a time above zero.
func (m mapping) limit(key string, limit *time.Duration) {
	n, ok := m.get(key)
	if !ok {
		return
	}
	d, ok := m.r.duration(n, key)
	if ok && d == 0 {
		m.r.fail(n, "%s is zero, which no load keeps; write it like %v", key, *limit)
	}
	*limit = d
}

func (r *reader) tcpBuffer(n ast.Node, key string, buffer *[3]int) {
	items, ok := r.list(n, key)
	if !ok {
		return
	}
	if len(items) != 3 {
		r.fail(n, "%s holds %d numbers; write minimum, default and maximum in bytes, as in [4096, 131072, 6291456]", key, len(items))
		return
	}
	for i, item := range items {
		if buffer[i], ok = r.integer(item, key, 1, 1<<30); !ok {
			return
		}
	}
	if !slices.IsSorted(buffer[:]) {
		r.fail(n, "%s decreases; write minimum, default and maximum in this order", key)
	}
}
