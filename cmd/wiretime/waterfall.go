package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"wiretime/capture"
	"wiretime/critical"
	"wiretime/store"
	"wiretime/study"
	"wiretime/terminal"
)

// showWaterfall draws the requests of a load over time.
func showWaterfall(w terminal.Writer, st *store.Store, l store.Load) error {
	if l.Dropped {
		return input(fmt.Errorf("draw the waterfall of load %s: its artefacts were dropped; %s", l.ID, comeBack(st, l)))
	}
	har, err := readHAR(l)
	if err != nil {
		return err
	}
	if har == nil || len(har.Log.Entries) == 0 {
		return input(fmt.Errorf("draw the waterfall of load %s: it is %s and left no requests ('wiretime show %s' has its figures)", l.ID, l.Validity, l.ID))
	}
	var paths []*critical.Path
	if l.Cell.On(study.AxisUpload) == "" { // a single request has none
		if paths, err = criticalPaths(l, har); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "load %s, %s\n", l.ID, l.Cell.Key())
	if l.Validity != store.Valid {
		fmt.Fprintf(w, "%s: %s\n", l.Validity, terminal.Line(l.Reason))
	}
	for _, page := range har.Log.Pages {
		f := newWaterfall(w.Screen(), har, page, paths)
		if err := f.draw(w); err != nil {
			return err
		}
	}
	return nil
}

// waterfall is the requests of a page, each with a bar from its start to its end.
type waterfall struct {
	screen   terminal.Screen
	page     capture.Page
	requests []capture.Entry
	path     *critical.Path // nil: unknown
	end      float64        // of the time axis, in ms since navigationStart
	name     int            // columns of the requests' names
	bar      int            // columns of the bars
}

// columnsElsewhere is how wide waterfalls are where lines have any length.
const columnsElsewhere = 120

func newWaterfall(s terminal.Screen, har *capture.HAR, page capture.Page, paths []*critical.Path) *waterfall {
	f := &waterfall{screen: s, page: page, end: max(page.Timings.OnLoad, page.Timings.OnContentLoad, 1)}
	for _, e := range har.Log.Entries {
		if (e.Page == page.ID || e.Page == "" && len(har.Log.Pages) == 1) && e.FromCache == "" && !strings.HasPrefix(e.Request.URL, "data:") {
			f.requests = append(f.requests, e)
		}
	}
	slices.SortStableFunc(f.requests, func(a, b capture.Entry) int { return a.Started.Compare(b.Started) })
	if i := slices.IndexFunc(paths, func(p *critical.Path) bool { return p.Page == page.ID }); i >= 0 {
		f.path = paths[i]
	}
	longest := len(criticalRow)
	for i := range f.requests {
		e := &f.requests[i]
		longest = max(longest, terminal.Width(terminal.Line(nameOf(e))))
		f.end = max(f.end, f.since(e)+e.Time)
	}
	const beside = len("* ") + 2 + len(" 123456.7")
	columns := cmp.Or(s.Columns, columnsElsewhere)
	f.name = min(longest, max(12, columns*2/5))
	f.bar = max(10, columns-f.name-beside)
	return f
}

// since returns when a request started, in ms since navigationStart.
func (f *waterfall) since(e *capture.Entry) float64 {
	return float64(e.Started.Sub(f.page.Started)) / 1e6
}

// nameOf is what a row calls a request.
func nameOf(e *capture.Entry) string {
	_, name, found := strings.Cut(e.Request.URL, "://")
	if !found {
		name = e.Request.URL
	}
	if e.Request.Method != "" && e.Request.Method != "GET" {
		name = e.Request.Method + " " + name
	}
	if s := e.Response.Status; s != 200 {
		name += fmt.Sprintf(" (%s)", cmp.Or(e.Response.Error, fmt.Sprint(s)))
	}
	return name
}

// span is a piece of time, in ms since navigationStart, that is drawn with one character.
type span struct {
	from, to float64
	mark     rune
	style    terminal.Style
}

// marks are the characters of a waterfall: of phases, of the critical path and of the page's events.
type marks struct{ blocked, setUp, wait, receive, critical, dcl, onLoad rune }

func (f *waterfall) marks() marks {
	if f.screen.Unicode {
		return marks{'·', '▒', '─', '█', '◆', '┊', '│'}
	}
	return marks{'.', '+', '-', '#', '*', ':', '|'}
}

// phases are the phases of a request that took time. In HAR, setting TLS up is a part of connecting.
func (f *waterfall) phases(e *capture.Entry) (all []span) {
	m, t := f.marks(), e.Timings
	at := f.since(e)
	for _, phase := range []struct {
		ms    float64
		mark  rune
		style terminal.Style
	}{
		{t.Blocked, m.blocked, terminal.Faint}, {max(0, t.DNS) + max(0, t.Connect), m.setUp, terminal.Yellow},
		{max(0, t.Send) + max(0, t.Wait), m.wait, terminal.Cyan}, {t.Receive, m.receive, terminal.Blue},
	} {
		if phase.ms > 0 {
			all = append(all, span{at, at + phase.ms, phase.mark, phase.style})
			at += phase.ms
		}
	}
	if len(all) == 0 {
		all = append(all, span{at, at + max(e.Time, 0), m.receive, terminal.Blue})
	}
	return all
}

// onPath returns the pieces of the critical path that lie in a request.
func (f *waterfall) onPath(e *capture.Entry) (all []span) {
	if f.path == nil {
		return nil
	}
	from, to := f.since(e)-0.5, f.since(e)+e.Time+0.5
	for _, s := range f.path.Steps {
		if step := (span{from: float64(s.From) / 1e6, to: float64(s.To) / 1e6}); s.Phase != critical.ClientPhase && strings.HasPrefix(e.Request.URL, s.URL) && step.from >= from && step.to <= to {
			all = append(all, step)
		}
	}
	return all
}

// cells divides the time axis among the bar's columns and returns the span with the most time in each; nil: none.
func (f *waterfall) cells(spans []span) []*span {
	all := make([]*span, f.bar)
	most := make([]float64, f.bar)
	each := f.end / float64(f.bar)
	for i := range spans {
		s := &spans[i]
		first := min(max(int(s.from/each), 0), f.bar-1)
		for c := first; c < f.bar && (c == first || float64(c)*each < s.to); c++ {
			within := min(s.to, float64(c+1)*each) - max(s.from, float64(c)*each)
			if all[c] == nil || within > most[c] {
				all[c], most[c] = s, within
			}
		}
	}
	return all
}

// row draws one bar, with the page's events behind it.
func (f *waterfall) row(spans, path []span) terminal.Text {
	m := f.marks()
	critical := f.cells(path)
	events := f.cells([]span{{f.page.Timings.OnLoad, f.page.Timings.OnLoad, m.onLoad, terminal.Faint}, {f.page.Timings.OnContentLoad, f.page.Timings.OnContentLoad, m.dcl, terminal.Faint}})
	var text terminal.Text
	for i, s := range f.cells(spans) {
		mark, style := ' ', terminal.Plain
		if e := events[i]; e != nil && e.from >= 0 {
			mark, style = e.mark, e.style
		}
		if s != nil {
			mark, style = s.mark, s.style
			if critical[i] != nil {
				style = terminal.Red
			}
		}
		if n := len(text); n > 0 && text[n-1].Style == style {
			text[n-1].Words += string(mark)
		} else {
			text = append(text, terminal.Part{Style: style, Words: string(mark)})
		}
	}
	return text
}

// criticalRow names the row of the critical path.
const criticalRow = "critical path"

func (f *waterfall) draw(w io.Writer) error {
	m := f.marks()
	fmt.Fprintf(w, "\n%s%s\n", terminal.Line(f.page.ID), f.events())
	fmt.Fprintf(w, "%c blocked  %c set-up  %c waiting  %c receiving  %c on the critical path  %c DCL  %c onLoad\n\n", m.blocked, m.setUp, m.wait, m.receive, m.critical, m.dcl, m.onLoad)
	end := fmt.Sprintf("%.1f ms", f.end)
	failed := terminal.Println(w, terminal.Text{{Words: strings.Repeat(" ", f.name+4) + "0" + strings.Repeat(" ", max(1, f.bar-1-len(end))) + end}})
	for i := range f.requests {
		e := &f.requests[i]
		path := f.onPath(e)
		failed = errors.Join(failed, f.print(w, len(path) > 0, nameOf(e), f.row(f.phases(e), path), fmt.Sprintf("%.1f", max(e.Time, 0))))
	}
	if f.path != nil {
		failed = errors.Join(failed, f.drawPath(w))
	}
	return failed
}

// events says when the page's events were.
func (f *waterfall) events() string {
	var said []string
	for _, e := range []struct {
		name string
		at   float64
	}{{"DCL", f.page.Timings.OnContentLoad}, {"onLoad", f.page.Timings.OnLoad}} {
		if e.at >= 0 {
			said = append(said, fmt.Sprintf("%s after %.1f ms", e.name, e.at))
		}
	}
	if len(said) == 0 {
		return ": neither DCL nor onLoad"
	}
	return ": " + strings.Join(said, ", ")
}

// print prints a row. marked says that it lies on the critical path.
func (f *waterfall) print(w io.Writer, marked bool, name string, bar terminal.Text, took string) error {
	mark := ' '
	if marked {
		mark = f.marks().critical
	}
	name = f.screen.Shorten(terminal.Line(name), f.name)
	text := terminal.Text{{Style: terminal.Red, Words: string(mark)}, {Words: " " + name + strings.Repeat(" ", f.name-terminal.Width(name)+2)}}
	text = append(text, bar...)
	return terminal.Println(w, append(text, terminal.Part{Words: fmt.Sprintf("%9s", took)}))
}

// letters stand for the kinds of time on a critical path.
var letters = map[critical.Kind]rune{
	critical.SetUp: 's', critical.Delay: 'd', critical.Server: 'r', critical.Window: 'w', critical.Bandwidth: 'b',
	critical.Queueing: 'q', critical.Loss: 'l', critical.HeadOfLine: 'h', critical.Client: 'c',
}

// drawPath draws what the time on the critical path was spent on, moment by moment, and in all.
func (f *waterfall) drawPath(w io.Writer) error {
	var spans []span
	for _, s := range f.path.Steps {
		spans = append(spans, span{float64(s.From) / 1e6, float64(s.To) / 1e6, letters[s.Kind], terminal.Plain})
	}
	failed := f.print(w, true, criticalRow, f.row(spans, nil), fmt.Sprintf("%.1f", float64(f.path.OnLoad)/1e6))
	fmt.Fprintln(w)
	table := terminal.NewTable(w)
	sums := f.path.Sums()
	for _, k := range critical.Kinds() {
		if sums[k] > 0 {
			fmt.Fprintf(table, "%c  %s\t%.1f ms\t%.1f %%\n", letters[k], k, float64(sums[k])/1e6, 100*float64(sums[k])/float64(f.path.OnLoad))
		}
	}
	failed = errors.Join(failed, table.Flush())
	_, err := fmt.Fprintf(w, "\n%s\n", f.path.Verdict())
	return errors.Join(failed, err)
}
