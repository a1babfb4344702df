package recording

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/costtest"
	"wiretime/site"
)

// cost is what an octet of a recording may cost; an exchange counts as 100 octets, the least
// that one takes in a file. The search for initiators costs up to two seconds more.
var cost = costtest.Limit{Fixed: 8 << 20, PerOctet: 128, Time: 2 * time.Microsecond}

// octetsOf returns how many octets a recording would take in a file.
func octetsOf(r *Recording) int {
	octets := 0
	for i := range r.Exchanges {
		e := &r.Exchanges[i]
		octets += 100 + len(e.URL) + len(e.Initiator) + len(e.Body)
		for _, h := range e.Header {
			octets += len(h.Name) + len(h.Value) + 10
		}
	}
	return octets
}

// TestCost makes sites of recordings that took time that grew with the square of their size.
func TestCost(t *testing.T) {
	many := func(n int, change func(e *Exchange, i int)) *Recording {
		r := &Recording{Source: "a test"}
		for i := range n {
			e := Exchange{Where: "x", Method: "GET", URL: fmt.Sprintf("https://www.a.test/%d", i), Status: 200, Body: []byte("x"), HasBody: true, Size: 1, Transfer: 1, Started: float64(i)}
			change(&e, i)
			r.Exchanges = append(r.Exchanges, e)
		}
		return r
	}
	page := func(r *Recording, body string, header ...site.Header) *Recording {
		e := Exchange{Where: "page", Method: "GET", URL: "https://www.a.test/page", Status: 200, Body: []byte(body), HasBody: body != "", Size: int64(len(body)), MIME: "text/html", Header: header}
		r.Exchanges = append([]Exchange{e}, r.Exchanges...)
		return r
	}
	script := func(e *Exchange, i int) {
		e.MIME, e.Initiator, e.Kind = "text/javascript", fmt.Sprintf("https://www.a.test/%d", i-1), "script"
	}
	numbered := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	long := strings.Repeat("x", 60_000)
	for _, test := range []struct {
		name string
		r    *Recording
	}{
		{"hosts that have no valid name", many(50_000, func(e *Exchange, i int) { e.URL = "https://" + strings.Repeat("_", i%50+1) + fmt.Sprint(i) + "_.1/" })},
		{"hosts with the same valid name", many(10_000, func(e *Exchange, i int) {
			e.URL = "https://" + strings.ReplaceAll(fmt.Sprintf("%014b", i), "0", "_") + strings.Repeat("-", 40) + "/"
		})},
		{"long hosts with the same valid name", many(10_000, func(e *Exchange, i int) {
			e.URL = "https://" + strings.Repeat("abcdefghi.", 24) + strings.NewReplacer("0", "_", "1", "~").Replace(fmt.Sprintf("%014b", i)) + "/"
		})},
		{"a host in foreign letters", many(2, func(e *Exchange, i int) {
			if i == 1 {
				return
			}
			var b strings.Builder
			for c := rune(0x4e00); c < 0x9fa0; c++ {
				b.WriteRune(c)
			}
			e.URL = "https://" + b.String() + b.String() + "/"
		})},
		{"a chain of scripts", page(many(30_000, script), "")},
		{"a chain of scripts in recorded bodies", page(many(30_000, script), "<p>")},
		{"a document with a long header", page(many(5_000, func(e *Exchange, _ int) { e.Initiator = "https://www.a.test/page" }), "<p>", slices.Repeat([]site.Header{{Name: "a", Value: "b"}}, 200_000)...)},
		{"references with a long base", page(many(1, func(*Exchange, int) {}), "<base href='/"+long+"/'>"+numbered("<img src=%d>", 200_000))},
		{"attributes", page(many(1, func(*Exchange, int) {}), "<img "+numbered("a%d ", 300_000)+">")},
		{"urls in a style", page(many(1, func(*Exchange, int) {}), "<style>"+numbered("a{b:url(%d)}", 100_000))},
		{"urls without end", page(many(1, func(*Exchange, int) {}), "<style>"+strings.Repeat("url( ", 300_000))},
		{"redirects", many(30_000, func(e *Exchange, i int) {
			e.Status, e.Header = 302, []site.Header{{Name: "location", Value: fmt.Sprint(i + 1)}}
		})},
		{"style sheets in a recorded document", page(many(30_000, func(e *Exchange, i int) {
			e.HasBody, e.Body, e.Size, e.Transfer = false, nil, 10, 10
			e.Kind, e.Initiator = "stylesheet", "https://www.a.test/page"
			if i%2 == 1 {
				e.Kind, e.Initiator = "image", fmt.Sprintf("https://www.a.test/%d", i-1)
			}
		}), "<p>")},
		{"links of a made document", page(many(1, func(*Exchange, int) {}), "", site.Header{Name: "link", Value: numbered("</%d>; rel=preload,", 100_000)})},
	} {
		t.Run(test.name, func(t *testing.T) {
			costtest.Check(t, octetsOf(test.r), cost, func() {
				if _, _, err := test.r.Site("x", Options{}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
