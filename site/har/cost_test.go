package har

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wiretime/costtest"
	"wiretime/site/recording"
)

// cost is what an octet of a HAR file may cost, with the site that is made of it. Beside that,
// the search for initiators takes up to two seconds, whatever the file.
var cost = costtest.Limit{Fixed: 1 << 20, PerOctet: 128, Time: 2 * time.Microsecond}

// list joins n elements with commas.
func list(n int, element func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(element(i))
	}
	return b.String()
}

func harOf(pages, entries string) string {
	return `{"log":{"pages":[` + pages + `],"entries":[` + entries + `]}}`
}

func same(text string) func(int) string { return func(int) string { return text } }

// TestCost reads files that took much more memory or time than their size justifies.
func TestCost(t *testing.T) {
	answer := func(url, more string) string {
		return `{"request":{"url":"` + url + `"},"response":{"status":200` + more + `}}`
	}
	for _, test := range []struct{ name, text, want string }{
		{"empty entries", harOf("", list(2_000_000, same("{}"))), "more than 100000 entries: import a single page, or raise the limit with --max-requests"},
		{"empty pages", harOf(list(2_000_000, same("{}")), answer("http://a.test/", "")), "more than 100000 pages"},
		{"entries with nothing but a URL", harOf("", list(99_999, same(`{"request":{"url":"a:"}}`))), "can be served"},
		{"the smallest exchanges", harOf("", list(99_999, func(i int) string { return answer(fmt.Sprintf("http://a.test/%d", i), `,"content":{"text":"x"}`) })), ""},
		{"entries without a page, and pages", harOf(
			list(50_000, func(i int) string {
				return fmt.Sprintf(`{"id":"%d","startedDateTime":"2020-01-01T00:00:00.%06dZ"}`, i, i)
			}),
			list(50_000, func(i int) string {
				return fmt.Sprintf(`{"startedDateTime":"2020-01-01T00:00:01Z","request":{"url":"data:%d"}}`, i)
			})), "can be served"},
		{"one text in responses of many sizes", harOf("", list(50_000, func(i int) string {
			return answer("https://a.test/", fmt.Sprintf(`,"content":{"size":%d,"text":"a"}`, 30+i))
		})), ""},
		{"empty fields", harOf("", answer("https://a.test/", `,"headers":[`+list(1_000_000, same("{}"))+`]`)), ""},
		{"empty stack frames", harOf("", `{"request":{"url":"http://a.test/"},"_initiator":{"stack":{"callFrames":[`+list(1_000_000, same("{}"))+`]}}}`), "can be served"},
		{"one entry list after the other", `{"log":{` + list(30, same(`"entries":[`+list(50_000, same("{}"))+`]`)) + `}}`, "none of the 50000 entries has a URL"},
		{"nested arrays", harOf("", strings.Repeat("[", 1_000_000)), "exceeded max depth"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var err error
			costtest.Check(t, len(test.text), cost, func() {
				var r *recording.Recording
				if r, err = Read(strings.NewReader(test.text), "x.har", Options{}); err == nil {
					_, _, err = r.Site("x", recording.Options{})
				}
			})
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
