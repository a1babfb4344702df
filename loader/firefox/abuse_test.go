package firefox

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
	b := newBench(t, false)
	browsertest.CheckAbuses(t, func(t *testing.T, s *site.Site, timeout time.Duration) (*capture.HAR, string, error) {
		b.restart(t)
		visit, err := b.browser.Open(t.Context(), nil)
		must(t, err)
		record, _ := b.loadIn(t, visit, row(t, "https/1.1"), s, fast, timeout)
		must(t, visit.Close())
		return record.HAR, b.browser.options.Folder, record.LoadError
	})
}
