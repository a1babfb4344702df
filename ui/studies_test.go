package ui

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const goodStudy = `name: mine
repeats: 3
matrix:
  sites: [shop]
  protocols: [h2, h3]
  networks: [cable, lte]
  loaders: [chromium]
`

func quoted(text string) string {
	b, _ := json.Marshal(text) // a string can be encoded
	return string(b)
}

// TestEditor checks, saves and reads a study as its page does, while another program changes the file.
func TestEditor(t *testing.T) {
	studies := t.TempDir()
	p := serve(t, filepath.Join(t.TempDir(), "store"), studies)
	var c checked
	p.ask("POST", "/api/studies/check", `{"name": "mine.yaml", "text": `+quoted(goodStudy)+`}`, 200, &c)
	if len(c.Errors) != 0 || c.Plan == nil || c.Plan.Name != "mine" || c.Plan.Cells != 4 || c.Plan.Loads != 12 || c.Plan.QuickLoads != 4 {
		t.Errorf("a good study is %+v, %+v", c, c.Plan)
	}
	c = checked{}
	p.ask("POST", "/api/studies/check", `{"text": `+quoted(strings.Replace(goodStudy, "[h2, h3]", "[h2, htp3]", 1))+`}`, 200, &c)
	if want := (mistake{5, 19, `unknown protocol "htp3"; did you mean "h3"?`}); len(c.Errors) != 1 || c.Errors[0] != want || c.Plan != nil {
		t.Errorf("a mistake is %+v, want %+v", c, want)
	}
	p.ask("POST", "/api/studies/check", `{"text": `+quoted(strings.Repeat("# long\n", 64<<10/6))+`}`, 200, &c)
	if len(c.Errors) != 1 {
		t.Errorf("a study that is too long has the mistakes %+v", c.Errors)
	}

	var saved openStudy
	p.ask("PUT", "/api/studies/files/mine.yaml", `{"text": `+quoted(goodStudy)+`, "tag": ""}`, 200, &saved)
	var list struct {
		Files   []listedStudy
		Builtin []listedBuiltin
	}
	p.get("/api/studies", &list)
	if len(list.Files) != 1 || list.Files[0].Name != "mine.yaml" || list.Files[0].Octets != int64(len(goodStudy)) {
		t.Errorf("the files are %+v", list.Files)
	}
	if i := slices.IndexFunc(list.Builtin, func(b listedBuiltin) bool { return b.Name == "lulic-1" }); i < 0 || list.Builtin[i].Title == "" || !strings.HasPrefix(list.Builtin[i].Description, "Experiment 1 of Lulic") {
		t.Errorf("the built-in studies are %+v", list.Builtin)
	}
	var open openStudy
	p.get("/api/studies/files/mine.yaml", &open)
	if open.Text != goodStudy || open.Tag != saved.Tag {
		t.Errorf("the saved file is %+v", open)
	}

	mustWrite(t, filepath.Join(studies, "mine.yaml"), "name: theirs\n")
	var clash struct{ Error, Tag, Text string }
	p.ask("PUT", "/api/studies/files/mine.yaml", `{"text": "name: ours", "tag": "`+saved.Tag+`"}`, 409, &clash)
	if clash.Text != "name: theirs\n" || clash.Error == "" {
		t.Errorf("the conflict is %+v", clash)
	}
	p.ask("PUT", "/api/studies/files/mine.yaml", `{"text": "name: ours\n", "tag": "`+clash.Tag+`"}`, 200, nil)
	if err := os.Remove(filepath.Join(studies, "mine.yaml")); err != nil {
		t.Fatal(err)
	}
	p.ask("PUT", "/api/studies/files/mine.yaml", `{"text": "name: ours", "tag": "`+clash.Tag+`"}`, 409, nil)
	p.get("/api/studies/builtin/first-look", &open)
	if !strings.Contains(open.Text, "name: first-look") {
		t.Errorf("a built-in study is %+v", open)
	}
}

// TestStudiesStayInTheirFolder asks for files that are none of the folder's studies.
func TestStudiesStayInTheirFolder(t *testing.T) {
	above := t.TempDir()
	studies := filepath.Join(above, "studies")
	if err := os.Mkdir(studies, 0o755); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, filepath.Join(above, "secret.yaml"), "secret")
	mustWrite(t, filepath.Join(studies, "notes.txt"), "secret")
	if err := os.Symlink(filepath.Join(above, "secret.yaml"), filepath.Join(studies, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	p := serve(t, filepath.Join(t.TempDir(), "store"), studies)
	for name, want := range map[string]int{"notes.txt": 400, "..%2fsecret.yaml": 400, ".hidden.yaml": 400, "link.yaml": 500, "none.yaml": 404} {
		status, _, answer := p.do("GET", "/api/studies/files/"+name, "", nil)
		if status != want || strings.Contains(string(answer), `"secret"`) {
			t.Errorf("reading %s: status %d, want %d: %s", name, status, want, answer)
		}
		if want == 404 {
			continue
		}
		if status, _, _ := p.do("PUT", "/api/studies/files/"+name, `{"text": "x", "tag": ""}`, nil); status < 400 {
			t.Errorf("saving %s: status %d", name, status)
		}
	}
	if text, err := os.ReadFile(filepath.Join(above, "secret.yaml")); err != nil || string(text) != "secret" {
		t.Errorf("the file outside holds %q, error %v", text, err)
	}
	for body, want := range map[string]int{`{"text": "x", "tag": "", "path": "/etc/passwd"}`: 400, `{`: 400, `{"text": ` + quoted(strings.Repeat("x", 65<<10)) + `}`: 400, strings.Repeat(" ", mostBody+1): 400} {
		if status, _, answer := p.do("PUT", "/api/studies/files/new.yaml", body, nil); status != want {
			t.Errorf("saving %.40q: status %d, want %d: %s", body, status, want, answer)
		}
	}
}

// TestWhatCannotBeStarted asks for runs that are refused before a program starts.
func TestWhatCannotBeStarted(t *testing.T) {
	dir, studies := filepath.Join(t.TempDir(), "store"), t.TempDir()
	mustWrite(t, filepath.Join(studies, "bad.yaml"), "name: [")
	mustWrite(t, filepath.Join(studies, "good.yaml"), goodStudy)
	p := serve(t, dir, studies)
	refused := func(path, body, words string, want int) {
		t.Helper()
		var said failure
		if p.ask("POST", path, body, want, &said); !strings.Contains(said.Error, words) {
			t.Errorf("%s %s: %q, want words such as %q", path, body, said.Error, words)
		}
	}
	for body, c := range map[string]struct {
		words string
		want  int
	}{
		`{}`: {"name a built-in study", 400}, `{"builtin": "first-look", "file": "good.yaml"}`: {"name a built-in study", 400},
		`{"builtin": "first-lock"}`: {`did you mean "first-look"?`, 404}, `{"file": "none.yaml"}`: {"not found in folder", 404}, `{"file": "../x.yaml"}`: {"without a folder", 400},
		`{"file": "bad.yaml"}`: {"has mistakes", 400}, `{"file": "good.yaml", "clock": "--store"}`: {"want one of", 400}, `{"file": "good.yaml", "keep": "x"}`: {"want one of", 400},
		`{"file": "good.yaml"}`: {"no such file", 500}, // there is no program in this test
	} {
		refused("/api/run", body, c.words, c.want)
	}
	refused("/api/run/resume", `{}`, "not a wiretime store", 503)
	refused("/api/run/stop", `{}`, "no process measures", 409)

	st := shop{dir, 1}.open(t)
	if _, err := st.BeginRun(shop{dir, 1}.spec()); err != nil {
		t.Fatal(err)
	}
	refused("/api/run", `{"file": "good.yaml"}`, "unfinished run", 409)
	refused("/api/run/resume", `{}`, "writes to the store", 409)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	refused("/api/run", `{"file": "good.yaml"}`, "resume it", 409)
	shop{dir, 1}.finish(t)
	refused("/api/run/resume", `{}`, "no unfinished run", 409)
}

// finish measures what the store's run lacks.
func (s shop) finish(t *testing.T) {
	t.Helper()
	st := s.open(t)
	defer st.Close()
	pending, err := st.Pending(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pending {
		s.keep(t, st, p)
	}
	if err := st.FinishRun(1, time.Now()); err != nil {
		t.Fatal(err)
	}
}
