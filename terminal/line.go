package terminal

import (
	"io"
	"os"
	"sync"
	"time"
)

// line is the last line of a terminal, which is written again and again while something is under way.
type line struct {
	file *os.File
	mu   sync.Mutex
	text func(columns int) Text // nil: nothing is under way
}

const eraseLine = "\r\x1b[K"

// above writes text above the line.
func (l *line) above(to io.Writer, text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text == nil {
		_, err := io.WriteString(to, text)
		return err
	}
	_, _ = io.WriteString(l.file, eraseLine)
	_, err := io.WriteString(to, text)
	l.draw()
	return err
}

// draw writes the line. Where a terminal refuses it, there is nobody to tell.
func (l *line) draw() {
	s := ScreenOf(l.file)
	columns := s.Columns - 1 // in the last column some terminals begin the next line
	_, _ = io.WriteString(l.file, eraseLine+l.text(columns).cut(s, columns).shown(s))
}

// Watch is a line that changes while something is under way.
type Watch struct {
	line    *line
	stop    chan struct{}
	ticking sync.WaitGroup
}

// Watch begins a line below all text that is printed from then on. text returns the line for a width, and is called
// every second, at each Update and after each Write; it must not print. Watch returns nil where lines cannot change: what
// the Writer writes to is no terminal, or a dumb one, or the Writer is not one of NewWriters.
func (w Writer) Watch(text func(columns int) Text) *Watch {
	if w.line == nil || !ScreenOf(w.line.file).Changes {
		return nil
	}
	w.line.mu.Lock()
	w.line.text = text
	w.line.draw()
	w.line.mu.Unlock()
	watch := &Watch{line: w.line, stop: make(chan struct{})}
	watch.ticking.Go(watch.tick)
	return watch
}

// tick shows how time goes by, and a width that has changed.
func (w *Watch) tick() {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-every.C:
			w.Update()
		case <-w.stop:
			return
		}
	}
}

// Update writes the line anew. The text must not call it.
func (w *Watch) Update() {
	w.line.mu.Lock()
	defer w.line.mu.Unlock()
	if w.line.text != nil {
		w.line.draw()
	}
}

// End takes the line away.
func (w *Watch) End() {
	close(w.stop)
	w.ticking.Wait()
	w.line.mu.Lock()
	defer w.line.mu.Unlock()
	w.line.text = nil
	_, _ = io.WriteString(w.line.file, eraseLine)
}
