package studyfile

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"wiretime/study"
)

// recorded is the value of options that repeat what was measured when the site was recorded.
const recorded = "recorded"

const (
	maxRetries = 100
	maxScale   = 1000
)

func (r *reader) options(n ast.Node, o *study.Options) {
	m, ok := r.mapping(n, "options", "dns", "late_limit", "taken_limit", "retries", "timeout", "think_time", "fallback",
		"server_wait", "origin_rtt", "freeze", "tear_down", "cpu", "tcp_rmem", "tcp_wmem")
	if !ok {
		return
	}
	m.refuse()
	if n, ok := m.get("dns"); ok {
		o.DNS = r.word(n, "kind of dns", []string{study.DNSEmulated, study.DNSInstant})
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
		o.Fallback = r.word(n, "fallback", []string{study.FallbackNone, study.FallbackH2})
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
	if n, ok := m.get("tear_down"); ok {
		o.TearDown = r.boolean(n, "tear_down")
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

// late reads a share of onLoad, or a limit for the 99th percentile of lateness.
func (r *reader) late(n ast.Node, o *study.Options) {
	text, ok := r.text(n, "late_limit")
	if !ok {
		return
	}
	if _, err := time.ParseDuration(text); err == nil {
		o.LateLimit = study.Late{}
		r.aboveZero(n, "late_limit", time.Millisecond, &o.LateLimit.P99)
		return
	}
	if r.kind.noOnLoad != "" {
		r.fail(n, "invalid late_limit %.40q: %s; want a time, as in 1ms", text, r.kind.noOnLoad)
		return
	}
	if !strings.HasSuffix(text, "%") {
		r.fail(n, "invalid late_limit %.40q: want a share of onLoad, as in 1%%, or a time, as in 1ms", text)
		return
	}
	o.LateLimit.Share = r.limitShare(n, "late_limit")
}

// limitShare reads a positive share of a load's time.
func (r *reader) limitShare(n ast.Node, what string) float64 {
	share := r.share(n, what, "the load's time")
	if share == 0 {
		r.fail(n, "%s must be positive, as in 1%%", what)
	}
	return share
}

// cpu reads the model of the built-in loader's main thread.
func (r *reader) cpu(n ast.Node) study.CPU {
	c := study.CPU{Scale: 1}
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
			r.fail(n, "invalid scale %.40q: want a number above 0, at most %d", text, maxScale)
		}
		c.Scale = scale
	}
	return c
}

func (r *reader) tcpBuffer(n ast.Node, key string, buffer *[3]int) {
	items, ok := r.list(n, key)
	if !ok {
		return
	}
	if len(items) != 3 {
		r.fail(n, "%s has %d numbers; want three: minimum, default and maximum in bytes, as in [4096, 131072, 6291456]", key, len(items))
		return
	}
	for i, item := range items {
		if buffer[i], ok = r.integer(item, key, 1, 1<<30); !ok {
			return
		}
	}
	if !slices.IsSorted(buffer[:]) {
		r.fail(n, "%s must not decrease: want minimum, default and maximum in this order", key)
	}
}
