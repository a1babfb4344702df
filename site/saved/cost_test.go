package saved

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wiretime/costtest"
	"wiretime/site/recording"
	"wiretime/site/sitetest"
)

// cost is what an octet of a saved page may cost.
var cost = costtest.Limit{Fixed: 4 << 20, PerOctet: 160, Time: 2 * time.Microsecond}

// TestCostOfMHTML reads files that took time that grew with the square of their size, or made
// much more of themselves.
func TestCostOfMHTML(t *testing.T) {
	const head = "Content-Type: multipart/related; boundary=b\n\n"
	whole := func(more string) string {
		return head + "--b\nContent-Type: text/html\nContent-Location: https://www.a.test/\n\n" + more + "\n--b--\n"
	}
	long := strings.Repeat("x", 4_000)
	for _, test := range []struct{ name, file, want string }{
		{"delimiters in a text without lines", whole(strings.Repeat("--b", 1_000_000)), ""},
		{"delimiters with text behind them", whole(strings.Repeat("--b-\n", 600_000)), ""},
		{"nothing but delimiters", head + strings.Repeat("--b\n", 800_000), "more than 100000 parts"},
		{"the smallest parts", whole(strings.Repeat("\n--b\nContent-ID:1\n\n", 90_000)), ""},
		{"an identifier that begins with itself", whole(strings.Repeat("cid:", 500_000) + "\n--b\nContent-ID: " + strings.Repeat("cid:", 250_000) + "x\n\n"), ""},
		{"short identifiers of a long URL", whole(strings.Repeat("cid:1 ", 500_000) + "\n--b\nContent-ID: 1\nContent-Location: https://www.a.test/" + long + "\n\n"), "more than 16 times as long as the file"},
		{"folded fields", whole("\n--b\nContent-ID: 1\n" + strings.Repeat(" a\n", 1_000_000) + "\n"), ""},
		{"multiparts in each other", strings.Repeat(head+"--b\n", 4_000), "no HTML document"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var err error
			costtest.Check(t, len(test.file), cost, func() {
				p := &page{host: "www.p.test", limits: recording.Limits{}.OrDefault()}
				err = p.parseMHTML([]byte(test.file))
			})
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestCostOfAFolder reads pages whose references are many or hard to resolve.
func TestCostOfAFolder(t *testing.T) {
	numbered := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, test := range []struct{ name, html string }{
		{"references with a long base", "<base href='/" + strings.Repeat("x", 1_000_000) + "/'>" + numbered("<img src=%d>", 150_000)},
		{"a srcset", "<img srcset='" + numbered("%d 1x,", 300_000) + "'>"},
		{"a srcset of commas", "<img srcset='" + strings.Repeat(",", 2_000_000) + "'>"},
		{"attributes", "<img " + numbered("a%d ", 300_000) + ">"},
		{"urls in a style", "<style>" + numbered("a{b:url(%d)}", 200_000)},
		{"urls without end", "<style>" + strings.Repeat("url(", 700_000)},
		{"strings without end", "<style>" + strings.Repeat("\"", 1_500_000)},
		{"escapes", "<style>" + strings.Repeat("\\", 1_500_000)},
		{"comments", "<style>" + strings.Repeat("/*", 1_000_000)},
		{"imports", "<style>" + strings.Repeat("@import ", 300_000)},
		{"dots", "<img src='" + strings.Repeat("../", 700_000) + "'>"},
		{"tags", strings.Repeat("<", 2_000_000)},
		{"a doctype", strings.Repeat("<!", 1_000_000)},
		{"templates", strings.Repeat("<template>", 200_000)},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := sitetest.Folder(t, map[string]string{"p.html": test.html, "p_files/a.css": "p{}"})
			costtest.Check(t, len(test.html), cost, func() {
				if _, err := Read(dir+"/p.html", Options{}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
