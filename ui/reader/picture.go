package reader

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
)

// Look is how a page is shown.
type Look struct {
	// Width and Height are the window's, in CSS pixels.
	Width, Height int64
	// Dark asks for dark colours.
	Dark bool
	// Print shows the page as it is printed.
	Print bool
	// Phone gives the window the manners of a phone's.
	Phone bool
}

// Set shows pages that way from now on.
func (r *Reader) Set(ctx context.Context, l Look) error {
	if _, err := call(ctx, r, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: l.Width, Height: l.Height, DeviceScaleFactor: 1, Mobile: l.Phone}); err != nil {
		return fmt.Errorf("set the window's size: %w", err)
	}
	scheme, media := "light", "screen"
	if l.Dark {
		scheme = "dark"
	}
	if l.Print {
		media = "print"
	}
	if _, err := call(ctx, r, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}); err != nil {
		return fmt.Errorf("set the page's colours: %w", err)
	}
	return nil
}

// Picture returns the page as a PNG, from its top on, at most so many CSS pixels high.
func (r *Reader) Picture(ctx context.Context, height float64) ([]byte, error) {
	metrics, err := call(ctx, r, page.GetLayoutMetrics, cdp.Empty{})
	if err != nil {
		return nil, fmt.Errorf("take a picture of the page: %w", err)
	}
	beyond := true
	shot, err := call(ctx, r, page.CaptureScreenshot, page.CaptureScreenshotParams{
		CaptureBeyondViewport: &beyond,
		Clip:                  &page.Viewport{Width: float64(metrics.CSSLayoutViewport.ClientWidth), Height: min(height, metrics.CSSContentSize.Height), Scale: 1},
	})
	if err != nil {
		return nil, fmt.Errorf("take a picture of the page: %w", err)
	}
	return shot.Data, nil
}
