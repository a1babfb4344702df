package study

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"wiretime/network"
)

// Options are what holds for every load of a study.
type Options struct {
	DNS       string // DNSEmulated or DNSInstant
	LateLimit Late
	// TakenLimit is the share of its time, 0 to 1, by which a load on the real clock may have
	// become longer by what others took of the processors.
	TakenLimit float64
	Retries    int           // further attempts at an invalid or failed load
	Timeout    time.Duration // of one load
	ThinkTime  time.Duration // between the pages of a journey: from the end of one until navigation to the next
	Fallback   string        // FallbackNone or FallbackH2

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

// Late is how late packets may have left the emulator.
type Late struct {
	// Share limits how far lateness can have moved onLoad: a share of onLoad, 0 to 1. 0: P99
	// alone is the limit.
	Share float64
	// P99 limits the 99th percentile of packet lateness, of loads without an onLoad or
	// where Share is 0.
	P99 time.Duration
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
	DNS:        DNSEmulated,
	LateLimit:  Late{Share: 0.01, P99: time.Millisecond},
	TakenLimit: 0.05,
	Retries:    2,
	Timeout:    120 * time.Second,
	Fallback:   FallbackNone,
	TCPRmem:    network.TCPRmem(),
	TCPWmem:    network.TCPWmem(),
}

const (
	maxRetries = 100
	maxScale   = 1000
)

func (r *reader) options(n ast.Node, o *Options) {
	m, ok := r.mapping(n, "options", "dns", "late_limit", "taken_limit", "retries", "timeout", "think_time", "fallback",
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
	if n, ok := m.get("late_limit"); ok {
		r.late(n, o)
	}
	if n, ok := m.get("taken_limit"); ok {
		o.TakenLimit = r.limitShare(n, "taken_limit")
	}
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

// late reads a share of onLoad, or a time that the 99th percentile of lateness may reach.
func (r *reader) late(n ast.Node, o *Options) {
	text, ok := r.text(n, "late_limit")
	if !ok {
		return
	}
	if _, err := time.ParseDuration(text); err == nil {
		o.LateLimit = Late{}
		r.aboveZero(n, "late_limit", time.Millisecond, &o.LateLimit.P99)
		return
	}
	if o.Stream != nil {
		r.fail(n, "late_limit is %.40q; a stream has no onLoad to take a share of: write a time, as in 1ms", text)
		return
	}
	if !strings.HasSuffix(text, "%") {
		r.fail(n, "late_limit is %.40q; write a share of onLoad, as in 1%%, or a time, as in 1ms", text)
		return
	}
	o.LateLimit.Share = r.limitShare(n, "late_limit")
}

// limitShare reads a share above zero of a load's time.
func (r *reader) limitShare(n ast.Node, what string) float64 {
	share := r.share(n, what, "the load's time")
	if share == 0 {
		r.fail(n, "%s must be above zero, as in 1%%", what)
	}
	return share
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
	m.r.aboveZero(n, key, *limit, limit)
}

func (r *reader) aboveZero(n ast.Node, what string, example time.Duration, to *time.Duration) {
	d, ok := r.duration(n, what)
	if ok && d == 0 {
		r.fail(n, "%s is zero, which no load keeps; write it like %v", what, example)
	}
	*to = d
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
