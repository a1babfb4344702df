package terminal

import (
	"io"
	"os"
	"strings"
)

// Writer escapes everything that is written to it, as Escape does. Each Write must end at
// the end of a character.
type Writer struct {
	to   io.Writer
	line *line // at the end of the terminal, which the text goes above; nil: none
}

// NewWriter returns a Writer that passes the escaped text on. The text of each Write is
// passed on by one Write.
func NewWriter(to io.Writer) Writer { return Writer{to: to} }

// NewWriters returns Writers for a program's standard output and standard error, which may be the same
// terminal: what is written to either goes above the line that Watch shows.
func NewWriters(stdout, stderr *os.File) (Writer, Writer) {
	shared := &line{file: stderr}
	return Writer{stdout, shared}, Writer{stderr, shared}
}

// Write implements io.Writer. It reports the octets of b, not those of the escaped text.
func (w Writer) Write(b []byte) (int, error) {
	if err := w.put(Escape(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// put writes text that is escaped already.
func (w Writer) put(text string) error {
	if w.line != nil {
		return w.line.above(w.to, text)
	}
	_, err := io.WriteString(w.to, text)
	return err
}

// Screen returns what the Writer's file can show now.
func (w Writer) Screen() Screen {
	file, _ := w.to.(*os.File)
	return ScreenOf(file)
}

// ScreenFor returns what can be shown where a writer writes to: that of a Writer, otherwise that of no terminal.
func ScreenFor(to io.Writer) Screen {
	if w, ours := to.(Writer); ours {
		return w.Screen()
	}
	return ScreenOf(nil)
}

// Text is a line of text in parts that may have colours.
type Text []Part

// Part is a part of a line in one style.
type Part struct {
	Style Style
	Words string // foreign text is escaped when it is printed
}

// String returns the text without its styles.
func (t Text) String() string {
	var all strings.Builder
	for _, p := range t {
		all.WriteString(p.Words)
	}
	return all.String()
}

// shown is the text as a screen gets it.
func (t Text) shown(s Screen) string {
	var all strings.Builder
	for _, p := range t {
		all.WriteString(s.styled(p.Style, Line(p.Words)))
	}
	return all.String()
}

// cut returns as much of a text as fits, escaped.
func (t Text) cut(s Screen, columns int) Text {
	var kept Text
	for i, p := range t {
		words := Line(p.Words)
		width := Width(words)
		if rest := t[i+1:]; width > columns || width == columns && rest.String() != "" {
			return append(kept, Part{p.Style, s.Cut(words+" "+rest.String(), columns)})
		}
		columns -= width
		kept = append(kept, Part{p.Style, words})
	}
	return kept
}

// Println prints a text as a line, with its styles if to is a Writer on a terminal that shows them.
func Println(to io.Writer, t Text) error {
	w, ours := to.(Writer)
	if !ours {
		w = NewWriter(to)
	}
	return w.put(t.shown(w.Screen()) + "\n")
}
