package player

import (
	"fmt"
	"time"
)

// connection is the state of the last session.
type connection uint8

const (
	closed connection = iota
	opening
	open
)

// Session is one connection, or association, to the server. Moments that have not
// come are 0.
type Session struct {
	Asked  time.Duration `json:"asked"`           // when it was ordered
	Open   time.Duration `json:"open,omitzero"`   // when requests could be made
	Closed time.Duration `json:"closed,omitzero"` // when it was lost or given up
}

// Handover is a change of the access link. Moments that have not come are 0.
type Handover struct {
	At     time.Duration `json:"at"`
	Access string        `json:"access"` // link that is in use from then on
	// Ready is when there was a session at the new address; not known with Multihome.
	Ready time.Duration `json:"ready,omitzero"`
	// Recovered is when octets arrived again: the first ones after Ready, or Ready if none
	// were waited for. With Multihome the viewer cannot see what the transport does. Recovered
	// then is the end of the longest silence between this handover and the next, while octets
	// were waited for.
	Recovered time.Duration `json:"recovered,omitzero"`
}

// Rebinding is a moment at which a NAT on the path forgot its bindings, of which neither end is told.
type Rebinding struct {
	At time.Duration `json:"at"`
	// Recovered is the end of the longest silence between this rebinding and the next, while octets
	// were waited for; 0 if none came.
	Recovered time.Duration `json:"recovered,omitzero"`
}

// Rebound reports a rebinding for the record. The player does nothing about it.
func (p *Player) Rebound(now time.Duration) {
	if !p.at(now) {
		return
	}
	p.rebindings, p.silence = append(p.rebindings, Rebinding{At: p.now}), 0
	p.note(Entry{Event: Rebound})
}

// Connected reports that a session can take requests.
func (p *Player) Connected(now time.Duration, session int) {
	if !p.at(now) || session != len(p.sessions) || p.connection != opening {
		return
	}
	p.connection, p.fresh = open, true
	p.sessions[session-1].Open = p.now
	p.note(Entry{Event: Connected, Session: session})
	p.ready()
	p.ask()
}

// Moved reports that a session has moved to the host's new address.
func (p *Player) Moved(now time.Duration, session int) {
	if !p.at(now) || session != len(p.sessions) || p.connection != open {
		return
	}
	p.note(Entry{Event: Moved, Session: session})
	p.ready()
}

// ready notes that there is a session at the host's address.
func (p *Player) ready() {
	if h := p.handover(); h != nil && p.config.OnHandover != Multihome && h.Ready == 0 {
		h.Ready = p.now
		if len(p.fetches) == 0 {
			h.Recovered = p.now
		}
	}
}

// handover returns the last handover, or nil.
func (p *Player) handover() *Handover {
	if len(p.handovers) == 0 {
		return nil
	}
	return &p.handovers[len(p.handovers)-1]
}

// Lost reports that a session is gone with all its requests: it could not be opened or
// moved, or it ended. err is nil if that is how the transport cancels a request, as TCP
// does.
func (p *Player) Lost(now time.Duration, session int, err error) {
	if !p.at(now) || session != len(p.sessions) || p.connection == closed {
		return
	}
	p.close(Entry{Event: Lost, Session: session, Reason: reason(err)})
	if err != nil {
		p.setback(err)
	}
	if p.retryAt == 0 {
		p.connect()
	}
}

// close closes the session.
func (p *Player) close(why Entry) {
	for _, f := range p.fetches {
		f.keep()
	}
	p.connection = closed
	p.sessions[len(p.sessions)-1].Closed = p.now
	p.note(why)
}

// connect orders a new session.
func (p *Player) connect() {
	p.sessions = append(p.sessions, Session{Asked: p.now})
	p.connection, p.retryAt = opening, 0
	p.order(Order{Kind: Connect, Session: len(p.sessions)})
	p.note(Entry{Event: Connecting, Session: len(p.sessions)})
}

// setback records a failure and decides whether the next attempt must wait.
func (p *Player) setback(err error) {
	p.failure = err
	if p.failures++; p.failures > 1 {
		p.retryAt = p.now + RetryPause
	}
}

// retry ends the wait after a setback.
func (p *Player) retry() {
	p.retryAt = 0
	if p.connection == closed {
		p.connect()
	}
	p.ask()
}

// LinkDelay reports the link's new one-way delay as the network's manager states it.
func (p *Player) LinkDelay(now, delay time.Duration) {
	if p.at(now) {
		p.told, p.delay = true, delay
		p.note(Entry{Event: Delayed, Delay: delay})
	}
}

// Associate reports that the host moves to another access link, which changes its address.
func (p *Player) Associate(now time.Duration, access string) {
	if !p.at(now) {
		return
	}
	p.handovers = append(p.handovers, Handover{At: p.now, Access: access})
	p.longest = 0
	p.note(Entry{Event: Associated, Access: access})
	switch {
	case p.config.OnHandover == Multihome:
	case p.config.OnHandover == Migrate && p.connection == open:
		p.order(Order{Kind: Move, Session: len(p.sessions)})
		p.note(Entry{Event: Moving, Session: len(p.sessions)})
	default:
		if p.connection != closed {
			p.close(Entry{Event: Left, Session: len(p.sessions)})
		}
		p.connect()
	}
}

// giveUp ends a viewing that has received nothing for GiveUp.
func (p *Player) giveUp() {
	err := fmt.Errorf("timed out after %v without data", p.config.GiveUp)
	if p.failure != nil && p.failures > 0 {
		err = fmt.Errorf("%w; last failure: %w", err, p.failure)
	}
	p.end(err)
}

// end ends the viewing.
func (p *Player) end(why error) {
	p.account()
	p.over = true
	p.connection = closed
	if last := &p.sessions[len(p.sessions)-1]; last.Closed == 0 {
		last.Closed = p.now
	}
	p.figures.Failure = reason(why)
	p.note(Entry{Event: Over, Reason: p.figures.Failure})
}

func (p *Player) order(o Order) { p.orders = append(p.orders, o) }

// reason returns an error's text for the record.
func reason(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
