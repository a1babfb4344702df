package viewer

import (
	"context"
	"net/netip"
	"time"

	"wiretime/media/player"
	"wiretime/network"
	"wiretime/panics"
)

// viewing is a viewing in progress. Only the goroutine of run may use its fields; all
// others send it news.
type viewing struct {
	Config
	ctx     context.Context
	player  *player.Player
	began   time.Time
	epoch   time.Duration // negative: not yet
	told    int           // number of events reported to the player
	rebound int           // number of rebindings reported to it
	news    chan func(now time.Duration)
	over    chan struct{} // closed when run no longer takes news
	work    panics.Group

	sessions []*session
	cancel   map[int]context.CancelFunc // of each request
	active   int                        // index of the link in use
	lost     map[int]time.Duration      // links that are lost, and until when
}

// run carries out the player's orders until it stops, and then ends everything.
func (v *viewing) run() {
	timer := newAlarm()
	defer timer.Stop()
	epoch, handovers := v.Epoch, v.Handovers
	var show <-chan time.Time
	if v.Show != nil {
		ticker := time.NewTicker(ShowEvery)
		defer ticker.Stop()
		show = ticker.C
		defer v.show()
	}
	defer v.finish() // even if the player panics
	for v.obey(); !v.player.Over(); v.obey() {
		if at, ok := v.next(); ok {
			timer.set(at, v.now)
		}
		select {
		case <-timer.C:
			timer.armed = false
			v.advance(v.now())
		case news := <-v.news:
			news(v.now())
		case <-show:
			v.advance(v.now())
			v.show()
		case <-epoch:
			v.epoch, epoch = v.now(), nil
		case h, more := <-handovers:
			if !more {
				handovers = nil
				continue
			}
			v.handOver(h)
		case o := <-v.Orders:
			v.follow(o)
		case <-v.ctx.Done():
			v.player.End(v.now(), context.Cause(v.ctx))
		}
	}
}

// finish ends everything that the viewing has started.
func (v *viewing) finish() {
	close(v.over)
	if n := len(v.sessions); n > 0 {
		v.leave(v.sessions[n-1])
	}
	v.work.Wait()
}

// show reports the state of the viewing.
func (v *viewing) show() {
	figures := v.player.Figures()
	v.Show(figures.Duration, v.player.Status(), figures)
}

// now returns the player's time.
func (v *viewing) now() time.Duration { return time.Since(v.began) }

// next returns when something is due even without news.
func (v *viewing) next() (at time.Duration, ok bool) {
	at, ok = v.player.Next()
	if due, pending := v.due(); pending && (!ok || due < at) {
		at, ok = due, true
	}
	if due, pending := v.rebinds(); pending && (!ok || due < at) {
		return due, true
	}
	return at, ok
}

// rebinds returns when the next rebinding is due.
func (v *viewing) rebinds() (at time.Duration, pending bool) {
	if v.epoch < 0 || v.rebound == len(v.Rebindings) {
		return 0, false
	}
	return v.epoch + v.Rebindings[v.rebound], true
}

// due returns when the manager's next report is due.
func (v *viewing) due() (at time.Duration, pending bool) {
	if v.epoch < 0 || v.told == len(v.Events) {
		return 0, false
	}
	return v.epoch + v.Events[v.told].At, true
}

// advance moves the player's time and delivers the manager's reports up to it.
func (v *viewing) advance(now time.Duration) {
	for at, pending := v.due(); pending && at <= now; at, pending = v.due() {
		v.player.LinkDelay(now, v.Events[v.told].Delay)
		v.told++
	}
	for at, pending := v.rebinds(); pending && at <= now; at, pending = v.rebinds() {
		v.player.Rebound(now)
		v.rebound++
	}
	v.player.Advance(now)
}

// tell passes news to run, which executes it.
func (v *viewing) tell(news func(now time.Duration)) (taken bool) {
	select {
	case v.news <- news:
		return true
	case <-v.over:
		return false
	}
}

func (v *viewing) obey() {
	for !v.player.Over() {
		orders := v.player.Orders()
		if len(orders) == 0 {
			return
		}
		for _, o := range orders {
			switch o.Kind {
			case player.Connect:
				v.connect()
			case player.Move:
				v.move(v.sessions[o.Session-1])
			case player.Ask:
				v.ask(v.sessions[o.Session-1], o)
			case player.Cancel:
				v.cancel[o.Request]()
			}
		}
	}
}

// handOver handles a new address of the host.
func (v *viewing) handOver(h network.Handover) {
	v.active = h.To
	if h.Back > 0 {
		v.lost[h.From] = v.epoch + h.Back
	}
	v.player.Associate(v.now(), v.Links[h.To].Name)
}

// follow handles an order.
func (v *viewing) follow(o Order) {
	if o.Seek >= 0 {
		v.player.Seek(v.now(), o.Seek)
		return
	}
	v.player.LinkDelay(v.now(), o.Delay)
	if o.Link >= 0 {
		v.handOver(network.Handover{To: o.Link})
	}
}

// addresses returns the addresses from which to open a session now.
func (v *viewing) addresses() []netip.Addr {
	if len(v.Links) == 0 {
		return nil
	}
	all := []netip.Addr{v.Links[v.active].Address}
	for i, l := range v.Links {
		if v.Player.OnHandover == player.Multihome && i != v.active && v.lost[i] <= v.now() {
			all = append(all, l.Address)
		}
	}
	return all
}

// alarm is a timer that may fire early if its time has been put off. Most received octets
// put off the player's timeout, and resetting a timer costs more than a spurious wake-up.
type alarm struct {
	*time.Timer
	armed bool
	at    time.Duration
}

func newAlarm() *alarm { return &alarm{Timer: time.NewTimer(time.Hour)} }

func (a *alarm) set(at time.Duration, now func() time.Duration) {
	if a.armed && a.at <= at {
		return
	}
	a.armed, a.at = true, at
	a.Reset(at - now())
}
