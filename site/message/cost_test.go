package message

import (
	"strings"
	"testing"
	"time"

	"wiretime/costtest"
	"wiretime/site/recording"
)

// cost is what an octet of a message may cost; decoded octets count as well.
var cost = costtest.Limit{Fixed: 2 << 20, PerOctet: 64, Time: time.Microsecond}

// TestCost reads messages whose headers took time that grew with the square of their length.
func TestCost(t *testing.T) {
	const head = "HTTP/1.1 200 OK\n"
	for name, octets := range map[string]string{
		"a folded field":    head + "a: b\n" + strings.Repeat(" a\n", 500_000) + "\n",
		"folded fields":     head + strings.Repeat("a: b\n"+strings.Repeat(" a\n", 5_000), 50) + "\n",
		"interim responses": strings.Repeat("HTTP/1.1 100\n\n", 100_000),
		"chunks":            head + "Transfer-Encoding: chunked\n\n" + strings.Repeat("1\nx\n", 500_000),
		"a chunk's size":    head + "Transfer-Encoding: chunked\n\n" + strings.Repeat("0", 2_000_000),
		"invalid fields":    head + strings.Repeat("\x00: \xff\n", 300_000) + "\n",
		"foreign letters":   head + strings.Repeat("a: \xff\n", 9_000) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			costtest.Check(t, len(octets), cost, func() {
				_, _ = parse(octets, NewBudget(recording.Limits{}))
			})
		})
	}
}

// TestDecodersAreCharged reads many bodies that decode to nothing usable. Each costs as much as
// one that does, so they use up the same limit.
func TestDecodersAreCharged(t *testing.T) {
	zeros, letters := strings.Repeat("\x00", 1<<20), "abcdefghijklmnopqrstuvwxyz0123456789"
	cut := func(s string) string { return s[:len(s)-6] }
	for _, c := range []struct{ name, codings, body string }{
		{"gzip without its end", "gzip", cut(coded(t, "gzip", zeros+letters))},
		{"br without its end", "br", cut(coded(t, "br", zeros+letters))},
		{"deflate without its end", "deflate", cut(coded(t, "zlib", zeros+letters))},
		{"gzip of nothing in gzip", "gzip, gzip", coded(t, "gzip", strings.Repeat(coded(t, "gzip", ""), 40_000))},
	} {
		t.Run(c.name, func(t *testing.T) {
			budget := NewBudget(recording.Limits{Total: 8 << 20})
			var err error
			for range 40 {
				if _, err = parse("HTTP/1.1 200 OK\r\nContent-Encoding: "+c.codings+"\r\n\r\n"+c.body, budget); err != nil {
					break
				}
			}
			if err == nil || !strings.Contains(err.Error(), "--max-size") {
				t.Errorf("after 40 bodies of a MiB: %v, want the limit of 8 MiB with its flag", err)
			}
		})
	}
}
