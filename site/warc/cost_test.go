package warc

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wiretime/costtest"
)

// cost is what an octet of a WARC file may cost.
var cost = costtest.Limit{Fixed: 4 << 20, PerOctet: 64, Time: 2 * time.Microsecond}

// TestCost reads files that took much more memory or time than their size justifies.
func TestCost(t *testing.T) {
	const html = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	fields := strings.Repeat("a: b\r\n", 9_000)
	long := strings.Repeat("x", 60_000)
	for _, test := range []struct{ name, file, want string }{
		{"revisits of a long header", rec("WARC-Type: response\nWARC-Target-URI: https://www.a.test/\n", html+fields+"\r\n<p>") +
			strings.Repeat(rec("WARC-Type: revisit\nWARC-Target-URI: https://www.a.test/x\nWARC-Refers-To-Target-URI: https://www.a.test/\n", ""), 20_000), "--max-size"},
		{"repairs of a long URL", strings.Repeat(rec("WARC-Type: response\nWARC-Target-URI: https://www.a.test/"+long+"\n", html+strings.Repeat("a: \xff\r\n", 9_000)+"\r\n"), 20), ""},
		{"small records", strings.Repeat("WARC/1.0\nWARC-Type: request\nContent-Length: 6\n\nGET /\n", 50_000), "no responses"},
		{"lines of a header", "WARC/1.0\n" + strings.Repeat("a\n", 1_500_000), "no readable response"},
		{"octets between records", "WARC/1.0\n\n" + strings.Repeat("x\n", 1_000_000), "no readable response"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var err error
			costtest.Check(t, len(test.file), cost, func() {
				_, err = Read(strings.NewReader(test.file), "x.warc", Options{})
			})
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(fmt.Sprint(err), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestADecompressionBomb reads a file of a MB that stands for a GiB. What is decompressed counts
// up to the limit.
func TestADecompressionBomb(t *testing.T) {
	bomb := zipped(t, rec("WARC-Type: resource\nWARC-Target-URI: https://www.a.test/\n", "x")+strings.Repeat("\x00\n", 40<<20))
	o := Options{}
	o.Limits.Total = 8 << 20
	var err error
	costtest.Check(t, int(o.Limits.Total), cost, func() { _, err = Read(strings.NewReader(bomb), "x.warc", o) })
	if err == nil || !strings.Contains(err.Error(), "--max-size") {
		t.Errorf("%d octets that are 80 MiB: %v", len(bomb), err)
	}
}
