package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"wiretime/advise"
	"wiretime/needtest"
	"wiretime/site"
	"wiretime/store"
)

// pageOf makes a site of resources with bodies.
func pageOf(t *testing.T, name string, resources []site.Resource, texts []string) *site.Site {
	t.Helper()
	bodies := map[string][]byte{}
	for i, text := range texts {
		resources[i].Method, resources[i].Status, resources[i].Body = "GET", 200, site.Hash([]byte(text))
		bodies[resources[i].Body] = []byte(text)
	}
	s, err := site.New(site.Site{Name: name, Page: resources[0].URL, Resources: resources}, bodies)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func typed(mime string) []site.Header { return []site.Header{{Name: "content-type", Value: mime}} }

// noise returns a comment that does not compress.
func noise(seed uint64, octets int) string {
	random, b := rand.New(rand.NewPCG(seed, 0)), make([]byte, octets)
	for i := range b {
		b[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+."[random.IntN(64)]
	}
	return "/*" + string(b) + "*/"
}

// scriptChain is a page of one large chain: each script asks for the next when it has run.
func scriptChain(t *testing.T) *site.Site {
	const scripts = 6
	resources := []site.Resource{{URL: "https://www.chain.test/", Header: typed("text/html")}}
	texts := []string{`<!DOCTYPE html><title>Chain</title><link rel="icon" href="data:,"><script src="/1.js"></script>`}
	for i := 1; i <= scripts; i++ {
		r := site.Resource{URL: fmt.Sprintf("https://www.chain.test/%d.js", i), Header: typed("text/javascript"), Kind: "script"}
		text := noise(uint64(i), 30_000)
		if i > 1 {
			r.Initiator = fmt.Sprintf("https://www.chain.test/%d.js", i-1)
		}
		if i < scripts {
			text += fmt.Sprintf(`var s = document.createElement("script"); s.src = "/%d.js"; document.head.append(s)`, i+1)
		}
		resources, texts = append(resources, r), append(texts, text)
	}
	return pageOf(t, "chain", resources, texts)
}

// blockedFont is a page whose font is asked for by a style sheet that takes its server a while. By then nothing else is under way, so
// onLoad does not wait for the font, but the text does.
func blockedFont(t *testing.T) *site.Site {
	const page = `<!DOCTYPE html><title>Font</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/a.css">` +
		`<p style="font-family: f">Text</p>%s`
	const sheet = `@font-face { font-family: f; src: url(/f.woff2) format("woff2") } p { font-family: f }`
	images := ""
	resources := []site.Resource{{URL: "https://www.font.test/", Header: typed("text/html")}}
	texts := []string{""}
	for i := range 22 { // more than the hints that announce the first 20 resources
		images += fmt.Sprintf(`<img src="/%d.png" width="9" height="9" alt="">`, i)
		resources, texts = append(resources, site.Resource{URL: fmt.Sprintf("https://www.font.test/%d.png", i), Header: typed("image/png")}), append(texts, noise(uint64(i), 500))
	}
	texts[0] = fmt.Sprintf(page, images)
	resources = append(resources, site.Resource{URL: "https://www.font.test/a.css", Header: typed("text/css"), Wait: 300},
		site.Resource{URL: "https://www.font.test/f.woff2", Header: typed("font/woff2")})
	return pageOf(t, "font", resources, append(texts, sheet, noise(99, 120_000)))
}

// asked is the advice on a site.
func asked(t *testing.T, u user, args ...string) (a advise.Advice) {
	t.Helper()
	r := u.run(t, append([]string{"advise", "--json"}, args...)...)
	if r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.errors)
	}
	if err := json.Unmarshal([]byte(r.out), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// gains returns the gain of each change by its name, and the verdict.
func gains(a advise.Advice) (gain map[string]float64, verdict map[string]string) {
	gain, verdict = map[string]float64{}, map[string]string{}
	for _, o := range a.Options {
		gain[o.Name], verdict[o.Name] = o.Effect.Gain, o.Effect.Verdict
	}
	return gain, verdict
}

// TestAdviceOnPagesOfKnownAnswer asks about pages that were made so that one change must help most. The advice is
// whole: on two networks, and with Chromium.
func TestAdviceOnPagesOfKnownAnswer(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	library := site.Library{Dir: filepath.Join(u.home, ".local", "share", "wiretime", "sites")}
	for _, s := range []*site.Site{scriptChain(t), blockedFont(t)} {
		if err := library.Keep(s); err != nil {
			t.Fatal(err)
		}
	}
	flags := []string{"--population", "lte: 60, cable: 40"}
	for _, c := range []struct {
		page  string
		flags []string
		best  []string // what must be first among cold visits
		least float64  // its gain
		weak  []string // what must save less than half as much
	}{
		{"objects@60x1kB", []string{"--protocol", "https/1.1"}, []string{"h2", "h3"}, 0.4, []string{"initcwnd-32", "bbr", "preload", "gzip", "nearer", "tls-1.2", "farther"}},
		{"chain", nil, []string{"preload", "early-hints"}, 0.25, []string{"https/1.1", "h3", "bbr", "tls-1.2", "farther"}},
		{"font", []string{"--metric", "plt"}, []string{"preload-fonts"}, 0.2, []string{"https/1.1", "h3", "initcwnd-32", "bbr", "preload", "early-hints", "tls-1.2", "farther"}},
	} {
		kept := strings.ReplaceAll(c.page, "@", "-")
		a := asked(t, u, slices.Concat([]string{c.page, "--store", kept, "-o", kept + ".html"}, c.flags, flags)...)
		cold := slices.DeleteFunc(slices.Clone(a.Options), func(o advise.Option) bool { return o.Repeat })
		best := cold[0]
		if !slices.Contains(c.best, best.Name) || best.Effect.Verdict != advise.Helps || best.Effect.Low < c.least || best.Effect.Better != 1 {
			t.Errorf("%s: the best change is %s, which %s: %+v; want one of %v to help by %v", c.page, best.Name, best.Effect.Verdict, best.Effect, c.best, c.least)
		}
		gain, verdict := gains(a)
		for _, name := range c.weak {
			if verdict[name] == "" || gain[name] > best.Effect.Gain/2 {
				t.Errorf("%s: %s saves %.3f (%s), want less than half of the %.3f that %s saves", c.page, name, gain[name], verdict[name], best.Effect.Gain, best.Name)
			}
		}
		if verdict["farther"] != advise.Hurts {
			t.Errorf("%s: a farther server %s", c.page, verdict["farther"])
		}
		if len(a.Steps) < 2 || a.Steps[0].Added.Name != best.Name || a.Browser == nil || !a.Browser.Agrees {
			t.Errorf("%s: steps %+v, browser %+v", c.page, a.Steps, a.Browser)
		}
		html, err := os.ReadFile(filepath.Join(u.home, kept+".html"))
		if err != nil || !strings.Contains(string(html), best.Title) || strings.Contains(string(html), "<script") {
			t.Errorf("%s: the page has %d octets, %v", c.page, len(html), err)
		}
	}
}

// TestAdviceOnPriorities asks about a page whose style sheets compete with its images: how soon they come depends on whether the server
// obeys priorities.
func TestAdviceOnPriorities(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	u.makeStyles(t)
	a := asked(t, u, "styles", "--population", "lte: 1", "--quick")
	gain, verdict := gains(a)
	if verdict["h3"] != advise.Helps || verdict["h3-equal-turns"] == "" || gain["h3-equal-turns"] > gain["h3"]-0.05 {
		t.Errorf("HTTP/3 saves %.3f (%s), and without priorities %.3f (%s)", gain["h3"], verdict["h3"], gain["h3-equal-turns"], verdict["h3-equal-turns"])
	}
}

// interruptAdvice stops an advice in good order when it has reported its first load.
func interruptAdvice(t *testing.T, u user, args []string) {
	t.Helper()
	c := u.command(t.Context(), args...)
	progress, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	said, told := "", false
	for lines := bufio.NewScanner(progress); lines.Scan(); {
		said += lines.Text() + "\n"
		if !told && strings.HasPrefix(lines.Text(), "[") {
			told = true
			if err := c.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = c.Wait() // its exit code says it
	if code := c.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(said, "--resume") {
		t.Fatalf("exit code %d, want %d and a word of --resume:\n%s", code, exitInterrupted, said)
	}
}

// TestAdviceGoesOn interrupts an advice, and asks again: no load is measured twice, and the answer is that of an advice that was
// not interrupted. A finished advice is given again from its store.
func TestAdviceGoesOn(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	args := []string{"advise", "objects@5x2kB", "--population", "{cable: 2, lte: 1}", "--no-browser", "--loads", "2", "--json"}
	whole := u.run(t, append(args, "--store", "whole")...)
	if whole.code != 0 {
		t.Fatalf("exit code %d: %s", whole.code, whole.errors)
	}
	interruptAdvice(t, u, append(slices.Clone(args), "--store", "kept"))
	refused := u.run(t, append(slices.Clone(args), "--store", "kept")...)
	if refused.code != exitInput || !strings.Contains(refused.errors, "--resume") {
		t.Errorf("without --resume: exit code %d, %s", refused.code, refused.errors)
	}
	for range 2 {
		r := u.run(t, append(slices.Clone(args), "--store", "kept", "--resume")...)
		if r.code != 0 || r.out != whole.out {
			t.Fatalf("exit code %d, %s\ngot  %s\nwant %s", r.code, r.errors, r.out, whole.out)
		}
	}
	st, err := store.Open(filepath.Join(u.home, "kept"), store.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	runs, err := st.Runs()
	if err != nil || len(runs) != 1 || runs[0].Done != runs[0].Planned {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

func TestAdviceRefusesWrongQuestions(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.write(t, "users.yaml", "lte: 40\ncabel: 45\n")
	for _, c := range []struct{ args, says string }{
		{"", "name one site or URL"},
		{"objects --populations", "name one site or URL"},
		{"objets", `the nearest name is "objects"`},
		{"objects+gzp", `unknown change "gzp"`},
		{"https://", "want a site, or a URL"},
		{"objects --population users.yaml", `users.yaml:2:1: unknown network "cabel"; did you mean "cable"?`},
		{"objects --population lte:", "--population:1:5: a weight must be a single value, not empty"},
		{"objects --population word", `unknown population "word"; there are mixed, mobile, fixed`},
		{"objects --protocol htp3", `unknown protocol "htp3"`},
		{"objects --metric requests", "must be a metric of pages in ms"},
		{"objects --loads 0", "must be 1 to 1000"},
		{"objects --distance -1ms", "must be positive"},
	} {
		r := u.run(t, append([]string{"advise"}, strings.Fields(c.args)...)...)
		if r.code != exitInput || !strings.Contains(r.errors, c.says) {
			t.Errorf("advise %s: exit code %d, %q; want %d and %q", c.args, r.code, r.errors, exitInput, c.says)
		}
	}
}
