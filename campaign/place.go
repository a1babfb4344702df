package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"wiretime/campaign/broker"
	"wiretime/english"
	"wiretime/runner"
	"wiretime/study"
)

// Places returns the places whose workers carry the plan's batches out, sorted; study.PlaceAny for batches of any worker.
func (p *Plan) Places() []string {
	all := map[string]bool{}
	for _, c := range p.Cells {
		all[cmp.Or(c.On[study.AxisAt], study.PlaceAny)] = true
	}
	return slices.Sorted(maps.Keys(all))
}

func placeOf(b runner.Batch) string { return cmp.Or(b.At, study.PlaceAny) }

// queue is a consumer of a campaign.
type queue struct{ stream, name, subject string }

// queues returns the queues of a campaign's work, one for each place, and that of its results.
func (c *Coordinator) queues() []queue {
	all := []queue{{broker.ResultStream, c.Campaign, broker.ResultSubject(c.Campaign, "*", "*")}}
	for _, place := range c.Plan.Places() {
		all = append(all, queue{broker.WorkStream, broker.WorkQueue(c.Campaign, place), broker.WorkSubject(c.Campaign, place, "*")})
	}
	return all
}

// noteAbsent notes at which places nobody works although there is work, and says so, once for each place until somebody does.
func (c *Coordinator) noteAbsent(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.pace.began) < silence {
		return
	}
	work := map[string]bool{}
	for _, t := range c.batches {
		if t.batch.At != "" && !t.done {
			work[t.batch.At] = true
		}
	}
	for place := range work {
		there := false
		for _, s := range c.states {
			there = there || now.Sub(s.at) < silence && slices.Contains(s.At, place)
		}
		switch _, known := c.absent[place]; {
		case there:
			delete(c.absent, place)
		case !known:
			c.absent[place] = now
			c.Said(fmt.Sprintf("nobody works at %s; start 'wiretime worker --at %[1]s' there", place))
		}
	}
}

// forsaken reports whether all that is left is work of places at which nobody has worked for some time.
func (c *Coordinator) forsaken(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := false
	for _, t := range c.batches {
		if t.done {
			continue
		}
		left = true
		if since, absent := c.absent[t.batch.At]; !absent || now.Sub(since) < c.terms.patience {
			return false
		}
	}
	return left
}

// places returns those of the plan's places that this worker may carry batches out for.
func (w *Worker) places(p *Plan) ([]string, error) {
	all := p.Places()
	mine := slices.DeleteFunc(slices.Clone(all), func(place string) bool { return place != study.PlaceAny && !slices.Contains(w.At, place) })
	if len(mine) > 0 {
		return mine, nil
	}
	here := "this worker names no place (--at)"
	if len(w.At) > 0 {
		here = "this worker is at " + strings.Join(w.At, ", ")
	}
	return nil, fmt.Errorf("%w: its loads are made at %s, and %s", ErrUnfit, strings.Join(all, ", "), here)
}

// queues returns a queue for each batch that the worker carries out at once: as many of any place as it has jobs, and one of each
// place of its own.
func (w *Worker) queues(ctx context.Context, campaign string, places []string) (all []jetstream.Consumer, err error) {
	for _, place := range places {
		consumer, err := w.js.Consumer(ctx, broker.WorkStream, broker.WorkQueue(campaign, place))
		if err != nil {
			return nil, fmt.Errorf("find its queue for %s: %w", place, err)
		}
		at := 1
		if place == study.PlaceAny {
			at = w.Jobs
		}
		all = append(all, slices.Repeat([]jetstream.Consumer{consumer}, at)...)
	}
	return all, nil
}

// manner says how a worker carries out the batches of places.
func (w *Worker) manner(places []string) string {
	if slices.Contains(places, study.PlaceAny) {
		return fmt.Sprintf("%d at a time", w.Jobs)
	}
	return "at " + strings.Join(places, ", ")
}

// ErrOver is wrapped by the error of a campaign that has given up what was not done at its end (Config.End).
var ErrOver = errors.New("its time is over")

// over says what is not done at the campaign's end, and where nobody works.
func (c *Coordinator) over() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := 0
	for _, t := range c.batches {
		if !t.done {
			left += pendingLoads(t.batch)
		}
	}
	absent := slices.Sorted(maps.Keys(c.absent))
	for i, place := range absent {
		absent[i] = "; nobody works at " + place
	}
	return fmt.Errorf("campaign %s: %w, with %s left%s", c.Campaign, ErrOver, english.Count(left, "load"), strings.Join(absent, ""))
}
