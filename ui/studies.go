package ui

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wiretime/artefact"
	"wiretime/atomicfile"
	"wiretime/store"
	"wiretime/study"
	"wiretime/study/builtin"
	"wiretime/study/studyfile"
)

// isStudy reports whether a name may be that of a study file in the folder.
func isStudy(name string) bool {
	ending := filepath.Ext(name)
	return name == filepath.Base(name) && !strings.HasPrefix(name, ".") && (ending == ".yaml" || ending == ".yml")
}

// listedStudy is a study file in the list of studies.
type listedStudy struct {
	Name     string    `json:"name"`
	Modified time.Time `json:"modified"`
	Octets   int64     `json:"octets"`
}

// listedBuiltin is a built-in study in the list of studies.
type listedBuiltin struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
}

func (s *Server) studies(*http.Request) (any, error) {
	answer := struct {
		Folder  string          `json:"folder"`
		Builtin []listedBuiltin `json:"builtin"`
		Files   []listedStudy   `json:"files"`
	}{Folder: s.Studies, Builtin: []listedBuiltin{}, Files: []listedStudy{}}
	for _, name := range builtin.Names() {
		text, err := builtin.File(name)
		if err != nil {
			return nil, err
		}
		answer.Builtin = append(answer.Builtin, listedBuiltin{name, textIn(string(text), "title"), textIn(string(text), "description")})
	}
	files, err := s.studyFiles()
	if err != nil {
		return nil, err
	}
	for _, info := range files {
		answer.Files = append(answer.Files, listedStudy{info.Name(), info.ModTime(), info.Size()})
	}
	return answer, nil
}

// studyFiles returns the study files of the folder, those that were changed last before the others.
func (s *Server) studyFiles() ([]fs.FileInfo, error) {
	entries, err := os.ReadDir(s.Studies)
	if err != nil {
		return nil, fmt.Errorf("list the studies of folder %s: %w", s.Studies, err)
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && isStudy(e.Name()) && info.Mode().IsRegular() {
			files = append(files, info)
		}
	}
	slices.SortStableFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	return files, nil
}

// studyTags returns the tags of the study files, by their names.
func (s *Server) studyTags() map[string]string {
	tags := map[string]string{}
	files, err := s.studyFiles()
	if err != nil {
		return tags
	}
	for _, info := range files {
		if text, err := s.readStudy(info.Name()); err == nil {
			tags[info.Name()] = tagOf(text)
		}
	}
	return tags
}

// tagOf tells one text of a file from another.
func tagOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// readStudy reads a study file of the folder.
func (s *Server) readStudy(name string) ([]byte, error) {
	if !isStudy(name) {
		return nil, fmt.Errorf("read study file %.80q: %w: want a name that ends in .yaml, without a folder", name, errInput)
	}
	text, err := artefact.Read(filepath.Join(s.Studies, name), studyfile.MaxSource)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read study file %s: %w in folder %s", name, errNotFound, s.Studies)
	case err != nil:
		return nil, fmt.Errorf("read study file %s: %w", name, err)
	}
	return text, nil
}

func (s *Server) builtinStudy(r *http.Request) (any, error) {
	name := r.PathValue("name")
	text, err := builtin.File(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotFound, err)
	}
	return map[string]string{"name": name, "text": string(text)}, nil
}

// openStudy is a study file with the tag that a page shows when it saves it.
type openStudy struct {
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
	Tag  string `json:"tag"`
}

func (s *Server) studyFile(r *http.Request) (any, error) {
	text, err := s.readStudy(r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	return openStudy{r.PathValue("name"), string(text), tagOf(text)}, nil
}

// conflict says that a study file is not the one that a page has changed, and what it is now.
type conflict struct {
	Message string `json:"error"`
	openStudy
}

func (c *conflict) Error() string { return c.Message }

// saveStudy replaces a study file, whole, if it is still the one that the page knows.
func (s *Server) saveStudy(r *http.Request) (any, error) {
	name := r.PathValue("name")
	var given openStudy
	if err := read(r, &given); err != nil {
		return nil, err
	}
	if len(given.Text) > studyfile.MaxSource {
		return nil, fmt.Errorf("save study file %.80q: %w: it has %d octets, more than %d", name, errInput, len(given.Text), studyfile.MaxSource)
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	now, err := s.readStudy(name)
	missing := errors.Is(err, errNotFound)
	switch {
	case err != nil && !missing:
		return nil, err
	case missing && given.Tag != "":
		return nil, &conflict{fmt.Sprintf("save study file %s: it was removed meanwhile; save it again to make it anew", name), openStudy{Name: name}}
	case !missing && given.Tag != tagOf(now):
		return nil, &conflict{fmt.Sprintf("save study file %s: it has changed since this page read it", name), openStudy{name, string(now), tagOf(now)}}
	}
	if err := atomicfile.WriteBytes(filepath.Join(s.Studies, name), []byte(given.Text)); err != nil {
		return nil, fmt.Errorf("save study file %s: %w", name, err)
	}
	return openStudy{Name: name, Text: given.Text, Tag: tagOf([]byte(given.Text))}, nil
}

// mistake is an error in a study's text.
type mistake struct {
	Line    int    `json:"line"` // from 1, like the column, which counts characters; 0 if it is not at one place
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// plan is what a study would measure.
type plan struct {
	Name       string   `json:"name"`
	Title      string   `json:"title,omitempty"`
	Cells      int      `json:"cells"`
	Loads      int      `json:"loads"`
	QuickCells int      `json:"quickCells"` // of a quick run
	QuickLoads int      `json:"quickLoads"`
	Clocks     []string `json:"clocks"`
	Commands   []string `json:"commands,omitempty"` // that its own servers run
}

// checked is what there is to say about a study's text: its mistakes, or its plan.
type checked struct {
	Errors []mistake `json:"errors"`
	Plan   *plan     `json:"plan,omitempty"`
}

// checkStudy reads a text as `wiretime run` reads a study file of that name.
func (s *Server) checkStudy(r *http.Request) (any, error) {
	var given openStudy
	if err := read(r, &given); err != nil {
		return nil, err
	}
	if given.Name == "" {
		given.Name = "study.yaml"
	}
	if !isStudy(given.Name) {
		return nil, fmt.Errorf("check study file %.80q: %w: want a name that ends in .yaml, without a folder", given.Name, errInput)
	}
	s.reading.Lock() // a study may take a while to read
	defer s.reading.Unlock()
	return s.check(given.Name, given.Text), nil
}

func (s *Server) check(name, text string) checked {
	c := checked{Errors: []mistake{}}
	path := filepath.Join(s.Studies, name)
	parsed, err := s.Parse(path, []byte(text))
	var mistakes studyfile.Errors
	switch {
	case errors.As(err, &mistakes):
		for _, m := range mistakes {
			c.Errors = append(c.Errors, mistake{m.Line, m.Column, m.Message})
		}
	case err != nil:
		c.Errors = append(c.Errors, mistake{Message: err.Error()})
	default:
		c.Plan = planOf(parsed)
		if quick, err := s.Parse(path, []byte(text)); err == nil {
			quick.UseQuick()
			cells := quick.Cells(nil)
			c.Plan.QuickCells, c.Plan.QuickLoads = len(cells), len(quick.Plan(cells))
		}
	}
	return c
}

func planOf(parsed *study.Study) *plan {
	cells := parsed.Cells(nil)
	p := &plan{Name: parsed.Name, Title: parsed.Title, Cells: len(cells), Loads: len(parsed.Plan(cells)), Clocks: parsed.Matrix[study.AxisClock]}
	for _, server := range parsed.OwnServers {
		p.Commands = append(p.Commands, strings.Join(server.Command, " "))
	}
	return p
}

// order is what a page asks to be measured.
type order struct {
	Builtin string `json:"builtin"` // a built-in study, or
	File    string `json:"file"`    // a study file of the folder
	Quick   bool   `json:"quick"`
	Clock   string `json:"clock"` // "": what the study says
	Keep    string `json:"keep"`  // "": what the study says
}

func (s *Server) startRun(r *http.Request) (any, error) {
	var o order
	if err := read(r, &o); err != nil {
		return nil, err
	}
	named, err := s.named(o)
	if err != nil {
		return nil, err
	}
	var arguments []string
	if o.Quick {
		arguments = append(arguments, "--quick")
	}
	for _, choice := range []struct {
		flag, value string
		known       []string
	}{{"--clock", o.Clock, []string{study.ClockReal, study.ClockVirtual, study.ClockAuto}}, {"--keep", o.Keep, study.Keeps()}} {
		if choice.value == "" {
			continue
		}
		if !slices.Contains(choice.known, choice.value) {
			return nil, fmt.Errorf("start a run: %w: %s is %.40q, want one of %s", errInput, choice.flag, choice.value, strings.Join(choice.known, ", "))
		}
		arguments = append(arguments, choice.flag, choice.value)
	}
	err = s.stores.with(func(st *store.Store, _ int64) error {
		run, unfinished, err := st.UnfinishedRun()
		if err == nil && unfinished {
			err = fmt.Errorf("start a run: %w: the store has an unfinished run (run %d of study %s, %d of %d loads done); resume it, or start `wiretime ui` with another --store",
				errConflict, run.ID, run.StudyName, run.Done, run.Planned)
		}
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNotStore) { // without a store, the run makes one
		return nil, err
	}
	pid, err := s.control.start(named, append(arguments, "--", named)...)
	return accepted{pid}, err
}

// named returns the study that is to be measured, as an argument of `wiretime run`.
func (s *Server) named(o order) (string, error) {
	switch {
	case (o.Builtin == "") == (o.File == ""):
		return "", fmt.Errorf("start a run: %w: name a built-in study or a study file", errInput)
	case o.Builtin != "":
		if _, err := builtin.File(o.Builtin); err != nil {
			return "", fmt.Errorf("start a run: %w: %w", errNotFound, err)
		}
		return o.Builtin, nil
	}
	text, err := s.readStudy(o.File)
	if err != nil {
		return "", err
	}
	if mistakes := s.check(o.File, string(text)).Errors; len(mistakes) > 0 {
		return "", fmt.Errorf("start a run: %w: study file %s has mistakes, the first in line %d: %s", errInput, o.File, mistakes[0].Line, mistakes[0].Message)
	}
	return filepath.Abs(filepath.Join(s.Studies, o.File))
}

func (s *Server) stopRun(r *http.Request) (any, error) {
	if err := read(r, &struct{}{}); err != nil {
		return nil, err
	}
	return accepted{}, s.control.stop()
}

func (s *Server) resumeRun(r *http.Request) (any, error) {
	var asked struct {
		StoredCommands bool `json:"storedCommands"` // the commands of the store's study may be run
	}
	if err := read(r, &asked); err != nil {
		return nil, err
	}
	var run store.Run
	err := s.stores.with(func(st *store.Store, _ int64) error {
		var unfinished bool
		var err error
		if run, unfinished, err = st.UnfinishedRun(); err == nil && !unfinished {
			err = fmt.Errorf("resume a run: %w: the store has no unfinished run", errConflict)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	arguments := []string{"--resume"}
	if asked.StoredCommands {
		arguments = append(arguments, "--run-stored-commands")
	}
	pid, err := s.control.start(run.StudyName, arguments...)
	return accepted{pid}, err
}
