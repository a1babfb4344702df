package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"wiretime/atomicfile"
	"wiretime/english"
	"wiretime/kernel"
	"wiretime/loader/chromium"
	"wiretime/protocol"
	"wiretime/site"
	"wiretime/study"
	"wiretime/study/studyfile"
	"wiretime/terminal"
	"wiretime/workload/pageload"
)

func initCommand() *cobra.Command {
	given := answers{}
	c := &cobra.Command{
		Use: "init [FILE]", Short: "Write a study by asking five questions",
		Long: `Init asks which page to load, over which protocols and networks, on which clock and
how often, and writes a study file (default: study.yaml) that 'wiretime run'
measures. Return takes what is in brackets. A question whose flag is given is not
asked, and answers may also come from a file or a pipe, a line each. A file that
is there already is left alone.`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			file := "study.yaml"
			if len(args) == 1 {
				file = args[0]
			}
			for _, q := range questions {
				if c.Flags().Changed(q.flag) {
					given[q.flag], _ = c.Flags().GetString(q.flag) // it is a string
				}
			}
			library, err := site.DefaultLibrary()
			if err != nil {
				return err
			}
			i := interview{in: bufio.NewReader(os.Stdin), out: stderr, again: terminal.Is(os.Stdin), file: file, given: given, answers: answers{}, library: library}
			return i.write()
		},
	}
	for _, q := range questions {
		c.Flags().String(q.flag, "", q.ask)
	}
	return c
}

// answers are what was said to the questions, by their flags.
type answers map[string]string

// live reports whether the page is a real one, which is loaded from its own servers over this machine's network.
func (a answers) live() bool { return strings.Contains(a["site"], "://") }

// question is one that init asks.
type question struct {
	flag, ask string
	hint      func() string
	usual     func(answers) string
	lab       bool // real pages leave no choice
}

var questions = []question{
	{flag: "site", ask: "which page: a site, or the URL of a real page", hint: func() string {
		return "'wiretime site list' has the sites, and 'wiretime site record URL' makes one of a real page"
	}, usual: func(answers) string { return "world-flags" }},
	{flag: "protocols", ask: "which protocols, separated by commas", hint: func() string { return strings.Join(protocol.Names(), ", ") },
		usual: func(answers) string { return "https/1.1, h2, h3" }},
	{flag: "networks", ask: "which networks, separated by commas", hint: func() string {
		return "'wiretime networks' has their rates and delays: " + strings.Join(profileNames(), ", ")
	},
		usual: func(answers) string { return "cable, lte" }, lab: true},
	{flag: "clock", ask: "which clock: virtual, real or auto", hint: func() string {
		return "virtual: the same figures on any machine, and no waiting; real: this machine's own"
	}, usual: usualClock, lab: true},
	{flag: "repeats", ask: "how many loads of each page, protocol and network", hint: func() string { return "six are the least that give a 95 % interval" },
		usual: func(answers) string { return "7" }},
}

// usualClock is the virtual one where its kernel is there.
func usualClock(answers) string {
	if _, err := kernel.Find(); err != nil {
		return study.ClockReal
	}
	return study.ClockVirtual
}

// interview asks the questions and writes the study.
type interview struct {
	in      *bufio.Reader
	out     io.Writer
	again   bool // a wrong answer is asked for again
	file    string
	given   answers // by flags
	answers answers // that were accepted so far
	library site.Library
}

func (i interview) write() error {
	if _, err := os.Lstat(i.file); err == nil {
		return input(fmt.Errorf("write a study: %s is there already; name another file", i.file))
	}
	for _, q := range questions {
		if text, is := i.given[q.flag]; is {
			if err := i.accept(q, text); err != nil {
				return err
			}
		}
	}
	for _, q := range questions {
		if _, is := i.given[q.flag]; is || q.lab && i.answers.live() {
			continue
		}
		if err := i.askFor(q); err != nil {
			return err
		}
	}
	s, err := i.study()
	if err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(i.file, s.Source); err != nil {
		return fmt.Errorf("write a study: %w", err)
	}
	cells := len(s.Cells(nil))
	_, err = fmt.Fprintf(i.out, "%s is written: %s, %s. Measure them:\n\n    wiretime run %s\n", i.file, english.Count(cells, "cell"), english.Count(cells*s.Repeats, "load"), i.file)
	return err
}

// accept takes an answer if the study can be read with it and the usual answers to what was not yet said.
func (i interview) accept(q question, text string) error {
	i.answers[q.flag] = text
	_, err := i.study()
	if err == nil {
		return nil
	}
	delete(i.answers, q.flag)
	return input(fmt.Errorf("write a study: --%s %s: %s", q.flag, text, mistake(err)))
}

// askFor asks a question until the answer will do.
func (i interview) askFor(q question) error {
	for {
		text, err := i.ask(q)
		if err != nil {
			return err
		}
		err = i.accept(q, text)
		if err == nil || !i.again {
			return err
		}
		fmt.Fprintf(i.out, "  %s\n", terminal.Line(err.Error()))
	}
}

// ask asks a question and returns the answer. Where the input has ended, but at a terminal, the usual answer is taken.
func (i interview) ask(q question) (string, error) {
	usual := q.usual(i.answers)
	fmt.Fprintf(i.out, "%s%s?\n  (%s)\n[%s] ", strings.ToUpper(q.ask[:1]), q.ask[1:], q.hint(), usual)
	line, err := i.in.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	if line == "" && i.again {
		fmt.Fprintln(i.out)
		return "", input(errors.New("write a study: the questions were not all answered; nothing is written"))
	}
	if !i.again {
		fmt.Fprintln(i.out, terminal.Line(strings.TrimSpace(line)))
	}
	if line = strings.TrimSpace(line); line == "" {
		return usual, nil
	}
	return line, nil
}

// mistake is what a study's reader says, without the place in a file that nobody has seen.
func mistake(err error) string {
	var all studyfile.Errors
	if !errors.As(err, &all) {
		return err.Error()
	}
	var said []string
	for _, e := range all {
		said = append(said, e.Message)
	}
	return strings.Join(said, "; ")
}

// study is that of the answers so far, and the usual ones to the other questions.
func (i interview) study() (*study.Study, error) {
	a := answers{}
	for _, q := range questions {
		if a[q.flag] = i.answers[q.flag]; a[q.flag] == "" && !(q.lab && a.live()) {
			a[q.flag] = q.usual(i.answers)
		}
	}
	return parseStudy(i.file, []byte(a.source(i.file)), i.library)
}

// source is the text of the study.
func (a answers) source(file string) string {
	var text strings.Builder
	clock := a["clock"]
	if a.live() && clock == "" {
		clock = study.ClockLive
	}
	fmt.Fprintf(&text, "# Written by 'wiretime init'. docs/study.md says what else a study can vary.\nname: %s\nrepeats: %s\nclock: %s\nmatrix:\n", studyName(file), scalar(a["repeats"]), scalar(clock))
	fmt.Fprintf(&text, "  sites: [%s]\n  protocols: [%s]\n", scalar(a["site"]), scalars(a["protocols"]))
	if a["networks"] != "" {
		fmt.Fprintf(&text, "  networks: [%s]\n", scalars(a["networks"]))
	}
	loader, why := a.loader()
	fmt.Fprintf(&text, "  loaders: [%s] # %s\n", loader, why)
	return text.String()
}

// loader is what loads the page, and why.
func (a answers) loader() (name, why string) {
	if strings.Contains(a["protocols"], "spdy") {
		return pageload.Builtin, "browsers no longer speak SPDY"
	}
	if _, err := chromium.Find(""); err != nil {
		return pageload.Builtin, "or chromium, once it is installed"
	}
	return pageload.Chromium, "or firefox, or builtin, which also speaks SPDY"
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// studyName makes a study's name of its file's.
func studyName(file string) string {
	base := filepath.Base(file)
	name := strings.Trim(notInNames.ReplaceAllString(strings.TrimSuffix(base, filepath.Ext(base)), "-"), "-.")
	if name == "" {
		return "study"
	}
	return name
}

// plain matches what YAML reads as the same text without quotation marks.
var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/@-]*$`)

func scalar(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}

func scalars(text string) string {
	var all []string
	for word := range strings.SplitSeq(text, ",") {
		all = append(all, scalar(strings.TrimSpace(word)))
	}
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == `""` }), ", ")
}
