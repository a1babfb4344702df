package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"wiretime/store"
)

const (
	// quietTime is how long at least a page hears nothing after it was told of a change: what changes meanwhile is told together.
	quietTime = 250 * time.Millisecond
	// beat is how often a page's connection is kept open by saying nothing.
	beat = 25 * time.Second
	// mostPages is how many pages may follow at once.
	mostPages = 32
	// mostEvents is how many events may wait for a page that does not read. Then it is left, and connects again.
	mostEvents = 64
)

// follower tells pages what changes. It watches the store and the studies only while there are pages.
type follower struct {
	server *Server

	mu     sync.Mutex
	pages  map[*follow]bool
	places map[int64]map[string]place // of the cells of the runs that are followed, by their keys
	failed error                      // why the store cannot be watched

	poked   chan struct{} // something may have changed
	arrived chan struct{} // there is a page
	left    chan struct{} // a page has gone
}

// follow is a page that follows.
type follow struct {
	run  int64 // 0: the one that is written, or else the latest
	out  chan []byte
	told map[string]string // the last data of each event
	gone context.CancelFunc
}

func (f *follower) init(s *Server) {
	f.server, f.pages, f.places = s, map[*follow]bool{}, map[int64]map[string]place{}
	f.poked, f.arrived, f.left = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	s.control.changed = f.poke
}

// poke has pages told of what has changed.
func (f *follower) poke() { signal(f.poked) }

// signal puts a token into a channel that has room for one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (f *follower) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.pages)
}

// run waits for pages and follows as long as there are some, until ctx ends.
func (f *follower) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.arrived:
			f.watch(ctx)
		}
	}
}

// watch tells pages of changes until no page is left.
func (f *follower) watch(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	watching.Go(func() {
		err := watch(ctx, []string{f.server.Store, f.server.Studies}, f.poke)
		f.mu.Lock()
		f.failed = err
		f.mu.Unlock()
		f.poke()
	})
	for f.count() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-f.left:
			continue
		case <-f.poked:
		}
		work := begin()
		f.tell()
		pause := time.NewTimer(max(quietTime, share*work.took()))
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
	}
}

// tell sends each page the events whose data is not what it was told last.
func (f *follower) tell() {
	f.mu.Lock()
	pages := make([]*follow, 0, len(f.pages))
	for p := range f.pages {
		pages = append(pages, p)
	}
	f.mu.Unlock()
	state := f.server.stateNow()
	runs, standing := f.standing(pages, state)
	files := f.server.studyTags()
	for _, p := range pages {
		p.tell("state", state)
		was, now := p.told["runs"], runs+"." // never empty
		if p.told["runs"] = now; was != "" && was != now {
			p.send("runs", []byte("{}"))
		}
		if progress, ok := standing[p.run]; ok {
			p.tell("progress", progress)
		}
		p.tellFiles(files)
	}
}

// standing returns what tells one list of runs from another, and the progress of each run that a page follows.
func (f *follower) standing(pages []*follow, state *stateAnswer) (runs string, standing map[int64]*progress) {
	standing = map[int64]*progress{}
	err := f.server.stores.with(func(st *store.Store, _ int64) error {
		all, err := st.Runs()
		if err != nil || len(all) == 0 {
			return err
		}
		for _, r := range all {
			runs += fmt.Sprint(r.ID, " ", r.Finished.UnixNano(), " ", state.Running != nil && state.Running.Run == r.ID, "\n")
		}
		for _, p := range pages {
			if standing[p.run] != nil {
				continue
			}
			run := all[len(all)-1]
			for _, r := range all {
				if r.ID == p.run {
					run = r
				}
			}
			if standing[p.run], err = f.progress(st, run); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil { // the state says why the store cannot be read
		return "", nil
	}
	return runs, standing
}

// tell sends an event unless its data is as it was.
func (p *follow) tell(event string, value any) {
	data, err := json.Marshal(value)
	if err != nil || p.told[event] == string(data) {
		return
	}
	p.told[event] = string(data)
	p.send(event, data)
}

// send queues an event. A page that has too many of them is left.
func (p *follow) send(event string, data []byte) {
	select {
	case p.out <- fmt.Appendf(nil, "event: %s\ndata: %s\n\n", event, data):
	default:
		p.gone()
	}
}

// tellFiles sends an event for each study file that has changed.
func (p *follow) tellFiles(tags map[string]string) {
	const told = "study "
	first := p.told["studies"] == ""
	p.told["studies"] = "told"
	change := func(name, tag string) {
		if p.told[told+name] == tag {
			return
		}
		p.told[told+name] = tag
		if !first {
			data, _ := json.Marshal(map[string]string{"name": name, "tag": tag}) // strings can be encoded
			p.send("study", data)
		}
	}
	for _, name := range sortedKeys(tags) {
		change(name, tags[name])
	}
	for _, key := range sortedKeys(p.told) {
		if name, ok := strings.CutPrefix(key, told); ok && tags[name] == "" {
			change(name, "")
		}
	}
}

// events sends a page what changes, as server-sent events (HTML standard, section 9.2).
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	run := int64(0)
	if asked := r.URL.Query().Get("run"); asked != "" {
		var err error
		if run, err = strconv.ParseInt(asked, 10, 64); err != nil {
			writeError(w, http.StatusBadRequest, "follow a run: its number is "+strconv.Quote(asked))
			return
		}
	}
	ctx, gone := context.WithCancel(r.Context())
	defer gone()
	p := &follow{run: run, out: make(chan []byte, mostEvents), told: map[string]string{}, gone: gone}
	if !s.follow.join(p) {
		writeError(w, http.StatusServiceUnavailable, fmt.Sprintf("follow a run: %d pages do so already; close one", mostPages))
		return
	}
	defer s.follow.leave(p)
	to := http.NewResponseController(w)
	_ = to.SetReadDeadline(time.Time{}) // the server's limits are for requests
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	say := func(text []byte) bool {
		_ = to.SetWriteDeadline(time.Now().Add(beat)) // a page that takes nothing has gone
		_, _ = w.Write(text)                          // Flush has the error
		return to.Flush() == nil
	}
	silence := time.NewTicker(beat)
	defer silence.Stop()
	for open := say(nil); open; {
		select {
		case <-ctx.Done():
			return
		case event := <-p.out:
			open = say(event)
		case <-silence.C:
			open = say([]byte(":\n\n"))
		}
	}
}

// join adds a page, unless there are too many.
func (f *follower) join(p *follow) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.pages) >= mostPages {
		return false
	}
	f.pages[p] = true
	signal(f.arrived)
	f.poke()
	return true
}

func (f *follower) leave(p *follow) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pages, p)
	signal(f.left)
}
