// Package ui serves the live page of `wiretime ui`: what a store holds, a run while it is measured, and the studies of a folder.
//
// The page is a browser's. Anything in the same browser may send requests to a port of this machine, so every request is held
// against the guard's rules (guard.go), and what a store holds is data to it: nothing foreign is ever sent as a page or a script.
//
// Without a page that is open, or a request, the server does nothing at all: a run on the real clock must not notice it.
package ui

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"wiretime/capture"
	"wiretime/report"
	"wiretime/store"
	"wiretime/study"
)

// Config says what a server shows, and how it reads what other packages define.
type Config struct {
	Store   string // folder of the store; there need not be one yet
	Studies string // folder of the study files that the page shows and changes
	Version string // of the program
	Token   string // that requests must show

	// App has the page's own files.
	App fs.FS
	// Program is the command that starts this program; `run` and its arguments are added.
	Program []string

	// Files read what loads left, as for a report.
	Files report.Files
	// Packets reads a load's capture; nil if it left none.
	Packets func(store.Load) (*capture.Packets, error)
	// Began returns when the page's navigation, or the stream, began; the zero time if the load left nothing that tells.
	Began func(store.Load) (time.Time, error)
	// Return says how the artefacts of a load that were dropped come back.
	Return func(*store.Store, store.Load) string
	// Parse reads a study as `wiretime run` does. Its errors are studyfile.Errors.
	Parse func(name string, text []byte) (*study.Study, error)
	// Papers returns the catalogue of papers with the verdicts of a store, as `wiretime papers --json` prints it.
	Papers func(store string) (any, error)
	// Difference says why two loads differ; its error says why that cannot be said.
	Difference func(st *store.Store, a, b store.Load) (any, error)
}

// Server serves the page and its data. Use New.
type Server struct {
	Config

	stores  keeper
	answers cache
	reading sync.Mutex // held by what reads much of the store, so that memory holds one such answer at a time
	saving  sync.Mutex // makes one request after the other compare a study file with what its page knows, and replace it
	control control
	follow  follower
}

// New returns a server.
func New(c Config) *Server {
	s := &Server{Config: c}
	s.stores.dir = c.Store
	s.control.init(c.Program, c.Store)
	s.follow.init(s)
	return s
}

// How long the server waits for a request's head, for its body, and for a connection that says nothing.
const (
	headTime = 10 * time.Second
	bodyTime = 30 * time.Second
	idleTime = 2 * time.Minute
)

// Serve answers requests on a listener until ctx ends. Then it has the run that it started stop in good order, and returns when
// that has ended, or when ctx's owner ends the program.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	server := &http.Server{
		Handler: s.guard(l.Addr(), s.routes()), ReadHeaderTimeout: headTime, ReadTimeout: bodyTime, IdleTimeout: idleTime, MaxHeaderBytes: 32 << 10,
		BaseContext: func(net.Listener) context.Context { return serving },
	}
	var tasks sync.WaitGroup
	tasks.Go(func() { s.follow.run(serving) })
	tasks.Go(func() {
		<-serving.Done()
		s.control.end()
		_ = server.Close() // requests that are under way are worth nothing to a page whose server has gone
	})
	err := server.Serve(l)
	stop()
	tasks.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, s.stores.close())
}

// routes returns what answers each request.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, answer := range map[string]func(*http.Request) (any, error){
		"GET /api/state":                    s.state,
		"GET /api/runs":                     s.runs,
		"GET /api/runs/{run}":               s.overview,
		"GET /api/runs/{run}/ratios":        s.ratios,
		"GET /api/runs/{run}/study":         s.studyOfRun,
		"GET /api/runs/{run}/cells/{cell}":  s.cell,
		"GET /api/loads/{load}":             s.load,
		"GET /api/loads/{load}/connections": s.connections,
		"GET /api/compare":                  s.compare,
		"GET /api/papers":                   s.papers,
		"GET /api/studies":                  s.studies,
		"GET /api/studies/builtin/{name}":   s.builtinStudy,
		"GET /api/studies/files/{name}":     s.studyFile,
		"PUT /api/studies/files/{name}":     s.saveStudy,
		"POST /api/studies/check":           s.checkStudy,
		"POST /api/run":                     s.startRun,
		"POST /api/run/stop":                s.stopRun,
		"POST /api/run/resume":              s.resumeRun,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			value, err := answer(r)
			answerJSON(w, r, value, err)
		})
	}
	for pattern, table := range map[string]func(*http.Request) (*table, error){
		"GET /api/runs/{run}/cells.csv":        s.cellsTable,
		"GET /api/runs/{run}/ratios.csv":       s.ratiosTable,
		"GET /api/runs/{run}/claims.csv":       s.claimsTable,
		"GET /api/runs/{run}/printed.csv":      s.printedTable,
		"GET /api/runs/{run}/cells/{cell}/csv": s.cellTable,
		"GET /api/loads/{load}/requests.csv":   s.requestsTable,
		"GET /api/loads/{load}/path.csv":       s.pathTable,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			t, err := table(r)
			answerTable(w, t, err)
		})
	}
	mux.HandleFunc("GET /api/runs/{run}/loads.csv", s.exportLoads)
	mux.HandleFunc("GET /api/events", s.events)
	mux.HandleFunc("GET /files/{load}/{name}", s.file)
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.HandleFunc("GET /", s.static)
	return mux
}

// static serves the page's own files.
func (s *Server) static(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = "index.html"
	}
	info, err := fs.Stat(s.App, name)
	if err != nil || !info.Mode().IsRegular() {
		answerJSON(w, r, nil, fmt.Errorf("find %s: %w; the page is at /", r.URL.Path, errNotFound))
		return
	}
	http.ServeFileFS(w, r, s.App, name)
}
