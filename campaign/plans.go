package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"wiretime/campaign/broker"
)

// These are the causes of a context that ends with a campaign.
var (
	errEnded       = errors.New("the campaign has ended")
	errQuarantined = errors.New("its coordinator has quarantined this worker")
)

// planned holds the plans in the bucket.
type planned struct {
	mu      sync.Mutex
	changed chan struct{}
	waiting map[string]signed // all plans, by campaign
	order   []string          // campaigns that were not served yet
	current string            // the ID of the run that is served
	end     context.CancelCauseFunc
}

// follow takes over what happens to plans until ctx ends.
func (p *planned) follow(ctx context.Context, watcher jetstream.KeyWatcher) {
	for {
		select {
		case <-ctx.Done():
			return
		case entry, ok := <-watcher.Updates():
			if !ok {
				return
			}
			if entry != nil { // nil: these were all that there are
				p.update(entry)
			}
		}
	}
}

func (p *planned) update(entry jetstream.KeyValueEntry) {
	campaign := entry.Key()[len(broker.PlanKey("")):]
	p.mu.Lock()
	defer p.mu.Unlock()
	var s signed
	gone := entry.Operation() != jetstream.KeyValuePut
	if !gone && json.Unmarshal(entry.Value(), &s) != nil {
		return // not signed by anyone
	}
	if p.end != nil && (gone && p.waiting[campaign].ID == p.current || s.Campaign == campaign && s.ID != p.current && p.waiting[campaign].ID == p.current) {
		p.end(errEnded)
	}
	if gone {
		delete(p.waiting, campaign)
		return
	}
	if s.Campaign != campaign {
		return
	}
	if p.waiting[campaign].ID != s.ID {
		p.order = append(p.order, campaign)
	}
	p.waiting[campaign] = s
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// next waits for a plan that was not served yet; false when ctx ends.
func (p *planned) next(ctx context.Context) (signed, bool) {
	for {
		p.mu.Lock()
		for len(p.order) > 0 {
			s, there := p.waiting[p.order[0]]
			p.order = p.order[1:]
			if there {
				p.mu.Unlock()
				return s, true
			}
		}
		p.mu.Unlock()
		select {
		case <-ctx.Done():
			return signed{}, false
		case <-p.changed:
		}
	}
}

// again puts a plan back among those that wait.
func (p *planned) again(s signed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting[s.Campaign].ID == s.ID {
		p.order = append(p.order, s.Campaign)
	}
}

// serve says that a plan is served from now on. end is called when the plan goes.
func (p *planned) serve(s signed, end context.CancelCauseFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current, p.end = s.ID, end
	if p.waiting[s.Campaign].ID != s.ID { // it has ended meanwhile
		end(errEnded)
	}
}

// served says that no plan is served any more.
func (p *planned) served() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current, p.end = "", nil
}
