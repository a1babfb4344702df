package network

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"
)

// maxDelay bounds a delay and a jitter. A longer one is probably a wrong unit.
const maxDelay = time.Hour

// Validate checks that the path can be emulated. Its error says which part is
// wrong and what to write instead.
func (p Path) Validate() error {
	if err := p.validate(); err != nil {
		return fmt.Errorf("network %q: %w", p.Name, err)
	}
	return nil
}

func (p Path) validate() error {
	if len(p.Access) == 0 {
		return errors.New("it has no access link; describe at least one")
	}
	seen := map[string]bool{}
	for i, a := range p.Access {
		if a.Name == "" {
			return fmt.Errorf("access link %d has no name; give it one, such as wlan", i+1)
		}
		if seen[a.Name] {
			return fmt.Errorf("two access links are named %q; give each its own name", a.Name)
		}
		seen[a.Name] = true
		for _, d := range []Direction{Up, Down} {
			if err := a.link(d).validate(); err != nil {
				return fmt.Errorf("access link %q, %v: %w", a.Name, d, err)
			}
			if a.Ride != nil && a.link(d).Trace != nil {
				return fmt.Errorf("access link %q, %v: it has a ride and a trace; keep one of them", a.Name, d)
			}
		}
		if err := p.validateShared(i); err != nil {
			return fmt.Errorf("access link %q: %w", a.Name, err)
		}
		if a.Ride != nil {
			if err := a.Ride.validate(); err != nil {
				return fmt.Errorf("access link %q: ride %q: %w", a.Name, a.Ride.Name, err)
			}
		}
	}
	for i, e := range p.Events {
		if err := p.validateEvent(e); err != nil {
			return fmt.Errorf("event %d at %v: %w", i+1, e.At, err)
		}
	}
	if err := p.validateHandovers(); err != nil {
		return err
	}
	if err := p.validateRebindings(); err != nil {
		return err
	}
	if err := p.validateFar(); err != nil {
		return err
	}
	return p.validateOutages()
}

// validateShared checks that the directions of a shared access link do not differ in what they share.
func (p Path) validateShared(access int) error {
	a := &p.Access[access]
	switch {
	case !a.Shared:
		return nil
	case a.Ride != nil:
		return errors.New("it is shared and follows a ride, which has a rate for each direction; keep one of them")
	case a.Up.Rate != a.Down.Rate || a.Up.Queue != a.Down.Queue || !reflect.DeepEqual(a.Up.Trace, a.Down.Trace):
		return errors.New("it is shared, but up and down differ in rate, trace or queue; set these for both directions together")
	}
	for i, e := range p.Events {
		if e.Direction != "" && e.concerns(a.Name, Up) != e.concerns(a.Name, Down) && (e.Rate != nil || e.Outage > 0) {
			return fmt.Errorf("it is shared, but event %d at %v changes the rate or stops it in one direction; leave the direction out", i+1, e.At)
		}
	}
	return nil
}

func (p Path) validateFar() error {
	for _, server := range slices.SortedFunc(maps.Keys(p.Far), netip.Addr.Compare) {
		if !server.IsValid() {
			return errors.New("a far server has no address; write one like 198.51.100.1")
		}
		if err := validateDelay("delay", p.Far[server]); err != nil {
			return fmt.Errorf("server %v: %w", server, err)
		}
	}
	return nil
}

func (l *Link) validate() error {
	if err := l.Rate.validate(); err != nil {
		return err
	}
	if l.Trace != nil {
		if l.Rate != 0 {
			return errors.New("it has a rate and a trace; keep one of them")
		}
		if err := l.Trace.validate(); err != nil {
			return fmt.Errorf("trace %s: %w", l.Trace.Name, err)
		}
	}
	if err := validateDelay("delay", l.Delay); err != nil {
		return err
	}
	if err := validateDelay("jitter", l.Jitter); err != nil {
		return err
	}
	if err := l.Loss.validate(); err != nil {
		return err
	}
	return l.Queue.validate()
}

func validateDelay(what string, d time.Duration) error {
	if d < 0 || d > maxDelay {
		return fmt.Errorf("a %s of %v is outside 0 to %v; write it like 50ms", what, d, maxDelay)
	}
	return nil
}

func (l Loss) validate() error {
	if err := validateProbability("a loss", l.Rate); err != nil {
		return err
	}
	g := l.GilbertElliott
	if g == nil {
		return nil
	}
	if l.Rate != 0 {
		return errors.New("it has an independent loss and a Gilbert-Elliott loss; keep one of them")
	}
	for _, v := range []struct {
		what  string
		value float64
	}{
		{"a Gilbert-Elliott p", g.P}, {"a Gilbert-Elliott r", g.R},
		{"a Gilbert-Elliott loss in the good state", g.GoodLoss}, {"a Gilbert-Elliott loss in the bad state", g.BadLoss},
	} {
		if err := validateProbability(v.what, v.value); err != nil {
			return err
		}
	}
	if g.P == 0 || g.R == 0 {
		return fmt.Errorf("its Gilbert-Elliott chain (p = %v, r = %v) never leaves a state; set both above 0, or write an independent loss", g.P, g.R)
	}
	return nil
}

func validateProbability(what string, p float64) error {
	if !(p >= 0 && p <= 1) { // refuses NaN too
		return fmt.Errorf("%s of %v is not a probability; write a number from 0 to 1, such as 0.02 for 2 %%", what, p)
	}
	return nil
}

func (q Queue) validate() error {
	switch {
	case q.Bytes < 0 || q.Packets < 0:
		return fmt.Errorf("a queue of %d bytes and %d packets: must not be negative; write 0 for no limit", q.Bytes, q.Packets)
	case q.Bytes > 0 && q.Bytes < OpportunityBytes:
		return fmt.Errorf("a queue of %d bytes never holds a full packet; make it at least %d bytes", q.Bytes, OpportunityBytes)
	}
	return nil
}

func (p Path) validateEvent(e Event) error {
	if e.At < 0 {
		return errors.New("must not be before the first packet; times count from 0")
	}
	if e.Rebind != "" {
		return e.Rebind.alone(e)
	}
	if e.Handover != "" {
		if e.Access != "" || e.Direction != "" || e.Rate != nil || e.Delay != nil || e.Loss != nil || e.Outage != 0 || e.OutageDrops {
			return errors.New("a handover cannot be combined with other changes; write them as an event of their own")
		}
		return p.validateAccess(e.Handover)
	}
	if e.Access != "" {
		if err := p.validateAccess(e.Access); err != nil {
			return err
		}
	}
	if e.Direction != "" && e.Direction != Up.String() && e.Direction != Down.String() {
		return fmt.Errorf("unknown direction %q; write up, down, or nothing for both", e.Direction)
	}
	switch {
	case e.Outage < 0:
		return fmt.Errorf("an outage of %v is negative; write a duration such as 500ms", e.Outage)
	case e.Outage == 0 && e.OutageDrops:
		return errors.New("its outage has no duration; write one such as 500ms")
	case e.Outage == 0 && e.Rate == nil && e.Delay == nil && e.Loss == nil:
		return errors.New("it changes nothing; set a rate, a delay, a loss, an outage above 0, a handover or a rebinding")
	case e.At+e.Outage < 0:
		return fmt.Errorf("an outage of %v ends after the last representable time; make it shorter", e.Outage)
	}
	if e.Rate != nil {
		if err := e.Rate.validate(); err != nil {
			return err
		}
	}
	if e.Delay != nil {
		if err := validateDelay("delay", *e.Delay); err != nil {
			return err
		}
	}
	if e.Loss != nil {
		if err := validateProbability("a loss", *e.Loss); err != nil {
			return err
		}
	}
	for _, a := range p.Access {
		for _, d := range []Direction{Up, Down} {
			if !e.concerns(a.Name, d) {
				continue
			}
			if (e.Rate != nil || e.Delay != nil) && a.Ride != nil {
				return fmt.Errorf("it sets the rate or the delay of access link %q, %v, which follows a ride; leave them out", a.Name, d)
			}
			if e.Rate != nil && a.link(d).Trace != nil {
				return fmt.Errorf("it sets the rate of access link %q, %v, which follows a trace; leave the rate out", a.Name, d)
			}
			if e.Loss != nil && a.link(d).Loss.GilbertElliott != nil {
				return fmt.Errorf("it sets the independent loss of access link %q, %v, which has a Gilbert-Elliott loss; leave the loss out", a.Name, d)
			}
		}
	}
	return nil
}

func (p Path) validateAccess(name string) error {
	if p.accessIndex(name) >= 0 {
		return nil
	}
	var names []string
	for _, a := range p.Access {
		names = append(names, a.Name)
	}
	if nearest := Nearest(name, names); nearest != "" {
		return fmt.Errorf("unknown access link %q; did you mean %q?", name, nearest)
	}
	return fmt.Errorf("unknown access link %q; write one of %s", name, strings.Join(names, ", "))
}

func (p Path) validateHandovers() error {
	back := make([]time.Duration, len(p.Access)) // of lost links
	for _, h := range p.Handovers() {
		if back[h.To] > h.At {
			return fmt.Errorf("handover at %v to %q, which is lost until %v; move it to a later time", h.At, p.Access[h.To].Name, back[h.To])
		}
		back[h.From] = h.Back
		if h.From == h.To {
			return fmt.Errorf("handover at %v to %q, which is already the active access link; leave it out", h.At, p.Access[h.To].Name)
		}
	}
	return nil
}

func (p Path) validateOutages() error {
	events := inOrderOfTime(p.events())
	for _, a := range p.Access {
		for _, d := range []Direction{Up, Down} {
			var last Event
			for _, e := range events {
				if e.Outage == 0 || !e.concerns(a.Name, d) {
					continue
				}
				if last.Outage > 0 && e.At < last.At+last.Outage {
					return fmt.Errorf("access link %q, %v: the outage at %v begins before the one at %v ends; write them as one", a.Name, d, e.At, last.At)
				}
				last = e
			}
		}
	}
	return nil
}
