package importer_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"wiretime/costtest"
	"wiretime/site/importer"
	"wiretime/site/recording"
)

// FuzzDetect detects the format of a file with any name and content, and reads it as that.
func FuzzDetect(f *testing.F) {
	for name, content := range map[string]string{
		"a.har": `{"log":{"entries":[{"request":{"url":"http://a.test/"}}]}}`, "b": "WARC/1.0\r\nWARC-Type: warcinfo\r\n\r\n", "c.html": "<!doctype html><img src=a>",
		"d.mhtml": "Content-Type: multipart/related; boundary=b\n\n--b\nContent-Type: text/html\n\n<p>\n--b--", "e": "https://a.test/ 20kB image\n", "f": "\x1f\x8b\x08\x00", "g.wacz": "PK\x03\x04", "h": "",
	} {
		f.Add(name, []byte(content))
	}
	limits := recording.Limits{Exchanges: 1000, Body: 1 << 16, Total: 1 << 18}
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		file := filepath.Join(t.TempDir(), "x"+filepath.Ext(filepath.Base(name)))
		if os.WriteFile(file, content, 0o600) != nil {
			return // not a name
		}
		costtest.Check(t, len(content), costtest.Limit{Fixed: 64 << 20, PerOctet: 160, Time: 2 * time.Microsecond}, func() {
			format, err := importer.Detect(file)
			if err != nil {
				return
			}
			if !slices.Contains(importer.Formats(), format) {
				t.Errorf("the format is %q", format)
			}
			_, _ = importer.Read(file, importer.Options{Format: format, SiteName: "x", Limits: limits})
		})
	})
}
