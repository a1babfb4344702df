package main

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wiretime/loader/chromium"
	"wiretime/needtest"
	"wiretime/ui/reader"
)

// visitedStudy is measured by the page itself. Its title is foreign text that a page must not take for its own.
const visitedStudy = `name: visited
title: 'Small <img src="/api/state" onerror="document.title=1">'
repeats: 36
clock: virtual
matrix:
  sites: [objects@10x5kB]
  protocols: [https/1.1, h2]
  networks: [{name: lossy, rate: 10mbit, rtt: 40ms, queue: 64kB, loss: 2%}]
  loaders: [builtin]
claims:
  - {text: HTTP/2 is faster., metric: onload, compare: {protocol: h2}, to: {protocol: https/1.1}, ratio: below 1}
`

// visitedStream has a stream to look at.
const visitedStream = `name: watched
repeats: 1
clock: virtual
stream: {rate: 20 Mbit/s, duration: 4s, window: 2s}
matrix:
  media: [clip]
  transports: [tcp, quic]
  players: [throughput]
  link_delays: [10ms]
  reconnections: [1]
options: {late_limit: 100ms, taken_limit: 100%}
`

// TestPages goes through the pages of wiretime ui as a person does, in one browser: a study is mended, saved, run, stopped, resumed and
// looked at.
func TestPages(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	program, err := chromium.Find("")
	if err != nil {
		t.Skip(err)
	}
	u := self(t)
	u.addKernel(t)
	u.write(t, "visited.yaml", visitedStudy)
	u.write(t, "streams.yaml", visitedStream)
	if got := u.run(t, "run", "streams.yaml", "--store", "kept"); got.code != 0 {
		t.Fatalf("run the streams: exit code %d: %s", got.code, got.errors)
	}
	server := u.serveUI(t, "kept")
	v := &visitor{T: t}
	if v.Reader, err = reader.Open(t.Context(), program, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	v.check(v.Set(t.Context(), reader.Look{Width: 1280, Height: 900}))
	v.check(v.Open(t.Context(), server.address+"/?token="+server.token))

	v.step("the runs of the store", func() {
		v.sees("watched")
	})
	v.step("a stream's timeline", func() {
		v.goes("#/runs/1")
		v.sees("All 2 planned loads have a valid attempt")
		v.goes("#/loads/r1-0000-a1")
		v.until(`document.querySelector("svg.timeline") !== null`)
		v.sees("What the viewer saw")
	})
	v.step("a study with a mistake", func() {
		v.press("Studies")
		v.press("visited.yaml")
		v.sees("No mistakes. 2\u00a0cells, 72\u00a0loads")
		v.types(`value.replace("h2", "htp2")`)
		v.sees(`unknown protocol "htp2"`)
		v.until(`document.querySelector(".marks mark").textContent === "htp2" && document.querySelector("textarea").getAttribute("aria-invalid") === "true"`)
		v.press("Line 7, column 26")
		v.until(`document.activeElement.tagName === "TEXTAREA" && document.activeElement.value.slice(document.activeElement.selectionStart).startsWith("htp2")`)
	})
	v.step("a study that is saved", func() {
		v.types(`value.replace("htp2", "h2").replace("HTTP/2 is faster.", "HTTP/2 is the faster one.")`)
		v.sees("Save it first.")
		v.press("Save")
		v.sees("visited.yaml is saved.")
		if text, err := os.ReadFile(filepath.Join(u.home, "visited.yaml")); err != nil || !strings.Contains(string(text), "the faster one") {
			t.Errorf("the file holds %s, error %v", text, err)
		}
	})
	v.step("a study file that another program changes", func() {
		u.write(t, "visited.yaml", visitedStudy+"# from outside\n")
		v.until(`document.querySelector("textarea").value.includes("# from outside")`)
		v.types(`value + "# mine\n"`)
		u.write(t, "visited.yaml", visitedStudy)
		v.sees("visited.yaml was changed by another program.")
		v.press("Show what the file holds")
		v.until(`!document.querySelector("textarea").value.includes("# mine")`)
	})
	v.step("a run that is followed, stopped and resumed", func() {
		v.press("Run it")
		v.until(`location.hash === "#/runs/2/live" && document.querySelector("progress")?.value > 0`)
		v.press("Stop")
		v.sees("The run was stopped; it can be resumed.")
		var done int
		v.eval(`document.querySelector("progress").value`, &done)
		if done < 1 || done >= 72 {
			t.Errorf("the run was stopped after %d of 72 loads", done)
		}
		v.press("Resume")
		v.sees("All 72\u00a0loads are done.")
		v.sees("The run is finished.")
		v.until(`document.querySelectorAll("table.loads tbody tr").length > 5`)
	})
	v.step("the overview, with pictures and tables to take away", func() {
		v.press("Overview")
		v.until(`document.querySelector(".overview svg") !== null`)
		v.sees("All 72 planned loads have a valid attempt")
		v.press("Save this picture as SVG")
		isDrawing(t, v.saved())
		v.press("Save this picture as PNG")
		isPicture(t, v.saved())
		v.press("Save this table as CSV")
		isTable(t, v.saved(), "https/1.1")
		v.eval(`document.querySelectorAll(".overview input")[1].click()`, nil)
		v.until(`location.hash.includes("metric=")`)
	})
	v.step("the study, its claims and its foreign title", func() {
		v.press("Study and claims")
		v.sees(`Small <img src="/api/state" onerror="document.title=1">`)
		v.sees("HTTP/2 is faster.")
		v.eval("history.back()", nil)
		v.until(`location.hash.startsWith("#/runs/2?") && document.querySelector(".overview svg") !== null`)
	})
	v.step("validity and environment", func() {
		v.press("Validity and environment")
		v.sees("Checks made on every load")
	})
	v.step("a cell", func() {
		v.goes("#/runs/2/cells/1")
		v.until(`document.querySelector(".distribution svg") !== null && document.querySelector("[aria-busy=true]") === null`)
		v.sees("What decided onLoad")
		v.eval(`document.querySelectorAll("table.loads input")[0].click(); document.querySelectorAll("table.loads input")[1].click()`, nil)
		v.press("Compare two loads")
		v.until(`location.hash.startsWith("#/compare/") && document.querySelectorAll("svg.glance").length === 2`)
		v.sees("Resource by resource")
	})
	v.step("a load", func() {
		v.goes("#/loads/r2-0000-a1")
		v.until(`document.querySelectorAll("tr.lane svg").length === 3 && document.querySelector("[aria-busy=true]") === null`)
		v.sees("load.pcapng")
		v.sees("What held the sender")
		v.eval(`document.querySelector("table.requests button").focus()`, nil)
		v.press("www.objects.test/")
		v.until(`document.querySelector("tr.details") !== null`)
	})
	v.step("papers, and an address that is none", func() {
		v.press("Papers")
		v.sees("kolmogortsev")
		v.goes("#/nowhere")
		v.sees("There is no page #/nowhere.")
	})
	if title := ""; v.Eval(t.Context(), "document.title", &title) != nil || title == "1" {
		t.Error("a page took foreign text for its own")
	}
}

// visitor reads pages for a test.
type visitor struct {
	*testing.T
	*reader.Reader
}

// step does one thing; what goes wrong in the page fails it.
func (v *visitor) step(name string, do func()) {
	v.Helper()
	do()
	for _, fault := range v.Faults() {
		v.Errorf("%s: the page met %s", name, fault)
	}
}

func (v *visitor) check(err error) {
	v.Helper()
	if err != nil {
		v.Fatal(err)
	}
}

func (v *visitor) eval(expression string, result any) {
	v.Helper()
	v.check(v.Eval(v.Context(), expression, result))
}

func (v *visitor) until(condition string) {
	v.Helper()
	v.check(v.Until(v.Context(), condition))
}

func (v *visitor) press(name string) {
	v.Helper()
	v.check(v.Press(v.Context(), name))
}

// sees waits until the page shows words.
func (v *visitor) sees(words string) {
	v.Helper()
	v.until("document.body.innerText.includes(`" + strings.ReplaceAll(words, "`", "\\`") + "`)")
}

func (v *visitor) goes(hash string) {
	v.Helper()
	v.eval("location.hash = '"+hash+"'", nil)
}

// types replaces the text of the editor by an expression of its value.
func (v *visitor) types(expression string) {
	v.Helper()
	v.eval(`{ const area = document.querySelector("textarea"); const value = area.value; area.value = `+expression+`; area.dispatchEvent(new Event("input")); }`, nil)
}

func (v *visitor) saved() string {
	v.Helper()
	path, err := v.Saved(v.Context())
	v.check(err)
	return path
}

// isDrawing checks that a file is a drawing with words that needs nothing else.
func isDrawing(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	root, words := "", 0
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", filepath.Base(path), err)
		}
		if e, ok := token.(xml.StartElement); ok {
			if root == "" {
				root = e.Name.Local
			}
			if e.Name.Local == "text" {
				words++
			}
		}
	}
	if root != "svg" || words == 0 || bytes.Contains(text, []byte("var(--")) || bytes.Contains(text, []byte("class=")) {
		t.Errorf("%s is a %s with %d texts, or needs the page's styles", filepath.Base(path), root, words)
	}
}

// isPicture checks that a file is a picture of more than one colour.
func isPicture(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatalf("%s: %v", filepath.Base(path), err)
	}
	colours := map[any]bool{}
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			colours[picture.At(x, y)] = true
		}
	}
	if len(colours) < 8 {
		t.Errorf("%s has %d colours", filepath.Base(path), len(colours))
	}
}

// isTable checks that a file is CSV with a word in its head and more rows.
func isTable(t *testing.T, path, word string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) < 2 || !strings.Contains(strings.Join(rows[0], ","), word) {
		t.Errorf("%s: %d rows, error %v, the first %q", filepath.Base(path), len(rows), err, rows)
	}
}
