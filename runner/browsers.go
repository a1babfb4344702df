package runner

import (
	"context"

	"wiretime/loader/browser"
)

// Browsers names the browsers' binaries. A name is empty if no load needs the browser.
type Browsers struct{ Chromium, Firefox string }

// describe returns the browsers' versions and binaries for the run's environment.
func (b Browsers) describe(ctx context.Context) (map[string]string, error) {
	said := map[string]string{}
	for _, c := range []struct{ key, binary string }{{"browser", b.Chromium}, {"firefox", b.Firefox}} {
		if c.binary == "" {
			continue
		}
		version, err := browser.Version(ctx, c.binary)
		if err != nil {
			return nil, err
		}
		said[c.key], said[c.key+"_binary"] = version, c.binary
	}
	return said, nil
}
