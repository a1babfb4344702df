package main

import (
	"fmt"
	"sync"
	"time"

	"wiretime/campaign"
	"wiretime/english"
	"wiretime/terminal"
)

// campaignProgress shows how a campaign goes on: on a terminal in one line that changes, elsewhere in a line now and then.
type campaignProgress struct {
	to    terminal.Writer
	watch *terminal.Watch // nil: lines
	said  time.Time       // when the last one was printed

	mu sync.Mutex
	at campaign.Progress
}

// sayEvery is the time between two lines where no line can change.
const sayEvery = 10 * time.Second

func newCampaignProgress(to terminal.Writer) *campaignProgress {
	p := &campaignProgress{to: to, said: time.Now()}
	p.watch = to.Watch(p.line)
	return p
}

func (p *campaignProgress) end() {
	if p.watch != nil {
		p.watch.End()
	}
}

func (p *campaignProgress) report(now campaign.Progress) {
	p.mu.Lock()
	p.at = now
	p.mu.Unlock()
	if p.watch != nil {
		p.watch.Update()
		return
	}
	if time.Since(p.said) >= sayEvery {
		p.said = time.Now()
		fmt.Fprintln(p.to, p.line(0))
	}
}

func (p *campaignProgress) line(int) terminal.Text {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.at
	if a.Planned == 0 {
		return terminal.Text{{Words: "starting"}}
	}
	text := terminal.Text{{Style: terminal.Bold, Words: fmt.Sprintf("[%*d/%d]", len(fmt.Sprint(a.Planned)), a.Done, a.Planned)}}
	if a.Remaining > 0 && a.Done < a.Planned {
		text = append(text, terminal.Part{Words: fmt.Sprintf("  about %v left", max(time.Second, a.Remaining.Round(time.Second)))})
	}
	busy := 0
	for _, w := range a.Workers {
		busy += w.UnderWay
	}
	text = append(text, terminal.Part{Words: fmt.Sprintf("  %s, %d under way", english.Count(len(a.Workers), "worker"), busy)})
	if a.Checked > 0 {
		text = append(text, terminal.Part{Words: fmt.Sprintf("  %d checked", a.Checked)})
	}
	if n := len(a.Quarantined); n > 0 {
		text = append(text, terminal.Part{Words: "  "}, terminal.Part{Style: terminal.Red, Words: fmt.Sprintf("%d quarantined", n)})
	}
	return text
}
