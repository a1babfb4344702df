package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"wiretime/capture"
)

// visitEarlier carries out the visit before the one that is measured, and leaves
// the client as that is to find it: the same pages over the same path, of which
// chance has it otherwise. It returns a record if that did not go well.
func (l *Lab) visitEarlier(ctx context.Context, load Load, raw *os.File) (*Record, error) {
	earlier := load
	earlier.Seed = earlierSeed(load.Seed)
	record, err := l.measure(ctx, earlier, raw)
	if err != nil {
		return nil, err
	}
	if record.LoadError != nil {
		record.LoadError = fmt.Errorf("the earlier visit: %w", record.LoadError)
		return record, nil //nolint:nilerr // the error is the load's
	}
	back, ok := load.Visit.(Revisitor)
	if !ok {
		record.LoadError = errors.New("the loader cannot come back to a site: it makes cold visits only")
		return record, nil
	}
	// The path is without delay now: the client hears at once of what is closed.
	if err := l.associate(load.Path); err != nil {
		return nil, err
	}
	if !load.Warm.Connections {
		if err := load.origins.Disconnect(); err != nil {
			return nil, err
		}
	}
	if err := l.drain(ctx); err != nil {
		return nil, err
	}
	if record.LoadError = back.Forget(ctx, load.Warm); record.LoadError != nil {
		record.LoadError = fmt.Errorf("end the earlier visit: %w", record.LoadError)
		return record, nil //nolint:nilerr // the error is the load's
	}
	if err := l.drain(ctx); err != nil {
		return nil, err
	}
	if err := load.origins.StartLog(); err != nil {
		return nil, err
	}
	if err := raw.Truncate(0); err != nil {
		return nil, fmt.Errorf("empty the capture file: %w", err)
	}
	if _, err := raw.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("empty the capture file: %w", err)
	}
	return nil, nil
}

// earlierSeed makes the seed of an earlier visit out of the load's own, by one step
// of SplitMix64 (Steele, Lea and Flood 2014).
func earlierSeed(seed uint64) uint64 {
	z := seed + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// browse has the visit load what the site asks for: its page, and the pages after
// it one after the other, or those beside it at the same moment.
func browse(ctx context.Context, load Load) (*capture.HAR, capture.Timing, error) {
	var urls []string
	for _, page := range append(append([]string{load.Site.Page}, load.Site.Journey...), load.Site.Tabs...) {
		url, err := load.Protocol.URL(page)
		if err != nil {
			return nil, unknownTiming, err
		}
		urls = append(urls, url)
	}
	if len(load.Site.Tabs) > 0 {
		together, ok := load.Visit.(Together)
		if !ok {
			return nil, unknownTiming, fmt.Errorf("the loader cannot open the site's %d pages at the same moment: it has one tab", len(urls))
		}
		limited, cancel := load.limit(ctx)
		defer cancel()
		return together.LoadTogether(limited, urls)
	}
	var j journey
	for i, url := range urls {
		if i > 0 && load.ThinkTime > 0 {
			select {
			case <-time.After(load.ThinkTime):
			case <-ctx.Done():
				return j.har, j.timing, context.Cause(ctx)
			}
		}
		limited, cancel := load.limit(ctx)
		har, timing, err := load.Visit.Load(limited, url)
		cancel()
		j.add(har, timing)
		if err != nil && len(urls) > 1 {
			err = fmt.Errorf("page %d of the journey's %d: %w", i+1, len(urls), err)
		}
		if err != nil {
			return j.har, j.timing, err
		}
	}
	return j.har, j.timing, nil
}

func (load *Load) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, load.Timeout,
		fmt.Errorf("the page was not there after %v, the study's timeout", load.Timeout))
}

// unknownTiming is that of a load in which nothing was loaded.
var unknownTiming = capture.Timing{DCL: -1, OnLoad: -1, TTFB: -1, FCP: -1, LCP: -1, LastResource: -1}

// journey gathers pages that are visited one after the other.
type journey struct {
	har    *capture.HAR
	timing capture.Timing
}

// add takes the next page in. A journey's figures are those of its pages added up,
// what lies between the pages left out; a figure that one page lacks, the journey
// lacks.
func (j *journey) add(har *capture.HAR, t capture.Timing) {
	if j.har == nil || har == nil {
		j.har, j.timing = har, t
		return
	}
	for _, sum := range []struct{ total, page *float64 }{
		{&j.timing.DCL, &t.DCL}, {&j.timing.OnLoad, &t.OnLoad}, {&j.timing.TTFB, &t.TTFB},
		{&j.timing.FCP, &t.FCP}, {&j.timing.LCP, &t.LCP}, {&j.timing.LastResource, &t.LastResource},
	} {
		if *sum.total < 0 || *sum.page < 0 {
			*sum.total = -1
		} else {
			*sum.total += *sum.page
		}
	}
	id := "page_" + strconv.Itoa(len(j.har.Log.Pages)+1)
	for _, page := range har.Log.Pages {
		page.ID = id
		j.har.Log.Pages = append(j.har.Log.Pages, page)
	}
	for _, entry := range har.Log.Entries {
		entry.Page = id
		j.har.Log.Entries = append(j.har.Log.Entries, entry)
	}
}
