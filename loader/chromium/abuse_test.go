package chromium

import (
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/loader/browser/browsertest"
	"wiretime/needtest"
	"wiretime/site"
)

// TestPagesThatAbuseTheBrowser loads hostile pages (see browsertest.CheckAbuses).
func TestPagesThatAbuseTheBrowser(t *testing.T) {
	needtest.Long(t)
	b := newBench(t, Options{})
	browsertest.CheckAbuses(t, func(t *testing.T, s *site.Site, timeout time.Duration) (*capture.HAR, string, error) {
		b.restart(t)
		v := b.open(t)
		record, _ := b.run(t, row(t, "https/1.1"), s, v, timeout)
		must(t, v.Close())
		return record.HAR, b.browser.options.Folder, record.LoadError
	})
	must(t, b.browser.Close())
	browsertest.CheckNoProcess(t, b.browser.options.Folder)
}
