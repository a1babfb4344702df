package pageload

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"wiretime/capture"
	"wiretime/site"
)

// browse loads the site's page, and then carries out its journey or opens its tabs.
func (r *loading) browse(ctx context.Context) (*capture.HAR, capture.Timing, error) {
	if len(r.Site.Tabs) > 0 {
		return r.openTogether(ctx)
	}
	var j journey
	entries := append([]string{r.Site.Page}, r.Site.Journey...)
	for i, entry := range entries {
		if i > 0 && r.ThinkTime > 0 {
			select {
			case <-time.After(r.ThinkTime):
			case <-ctx.Done():
				return j.har, j.timing, context.Cause(ctx)
			}
		}
		limited, cancel := r.limit(ctx)
		har, timing, err := r.goOn(limited, i, entry)
		cancel()
		j.add(har, timing)
		if err != nil && len(entries) > 1 {
			err = fmt.Errorf("page %d of the journey's %d: %w", i+1, len(entries), err)
		}
		if err != nil {
			return j.har, j.timing, err
		}
	}
	return j.har, j.timing, nil
}

// goOn visits a page of the journey or carries out a step of it. Entries are numbered from 1; 0 is the site's page.
func (r *loading) goOn(ctx context.Context, number int, entry string) (*capture.HAR, capture.Timing, error) {
	if step, is, _ := site.ParseStep(entry); is {
		actor, ok := r.Session.(Actor)
		if !ok {
			return nil, unknownTiming, fmt.Errorf("%s: the loader can neither click nor scroll", entry)
		}
		if step.Click != "" {
			return actor.Click(ctx, number, step.Click)
		}
		return actor.Scroll(ctx, number, step.Scroll)
	}
	url, err := r.terms.Protocol.URL(entry)
	if err != nil {
		return nil, unknownTiming, err
	}
	return r.Session.Load(ctx, url)
}

// openTogether opens the site's page and its tabs at the same moment.
func (r *loading) openTogether(ctx context.Context) (*capture.HAR, capture.Timing, error) {
	var urls []string
	for _, page := range append([]string{r.Site.Page}, r.Site.Tabs...) {
		url, err := r.terms.Protocol.URL(page)
		if err != nil {
			return nil, unknownTiming, err
		}
		urls = append(urls, url)
	}
	together, ok := r.Session.(Together)
	if !ok {
		return nil, unknownTiming, fmt.Errorf("the loader cannot open the site's %d pages at the same moment: it has one tab", len(urls))
	}
	limited, cancel := r.limit(ctx)
	defer cancel()
	return together.LoadTogether(limited, urls)
}

func (r *loading) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	late := fmt.Errorf("the page had not loaded after %v, the study's timeout", r.Timeout)
	if r.Upload > 0 {
		late = fmt.Errorf("the upload had not ended after %v, the study's timeout", r.Timeout)
	}
	return context.WithTimeoutCause(ctx, r.Timeout, late)
}

// unknownTiming is the timing of a load in which nothing was loaded.
var unknownTiming = capture.Timing{DCL: -1, OnLoad: -1, TTFB: -1, FCP: -1, LCP: -1, LastResource: -1}

// journey gathers pages that are visited one after the other.
type journey struct {
	har    *capture.HAR
	timing capture.Timing
}

// add adds the next page. A figure of a journey is the sum over its pages, without the time
// between them; it is unknown if one page lacks it.
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
