package network

import (
	"fmt"
	"time"
)

// SetDelay changes the one-way delay of one direction of all access links from now ns since the epoch on, as
// an event of the path would. now must not be before the last event or order.
func (e *Emulation) SetDelay(d Direction, now int64, delay time.Duration) error {
	if err := validateDelay("delay", delay); err != nil {
		return err
	}
	for i := int(d); i < len(e.lines); i += 2 {
		e.lines[i].delay.set(now+e.from, int64(delay))
	}
	return nil
}

// HandOver makes an access link, by its index in Path.Access, the active one from now ns since the epoch on.
func (e *Emulation) HandOver(now int64, to int) error {
	if to < 0 || to >= len(e.lines)/2 {
		return fmt.Errorf("hand over to access link %d: the path has %d", to, len(e.lines)/2)
	}
	e.handovers = append(e.handovers, Handover{At: time.Duration(now + e.from), From: e.Active(now), To: to})
	return nil
}
