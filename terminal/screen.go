package terminal

import (
	"cmp"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Screen says what can be shown where text is printed.
type Screen struct {
	Columns  int  // characters of a line; 0: unlimited, as in a file or a pipe
	Changes  bool // a line can be written again
	Coloured bool
	Unicode  bool // more than ASCII, by the locale
}

// usualColumns is the width of a terminal that does not tell its own.
const usualColumns = 80

// ScreenOf returns what a file can show now: a terminal may change its width. NO_COLOR (no-color.org) and
// TERM=dumb switch colours off. nil stands for no file.
func ScreenOf(file *os.File) Screen {
	s := Screen{Unicode: unicodeLocale()}
	if file == nil || !Is(file) {
		return s
	}
	s.Columns = usualColumns
	if size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
		s.Columns = int(size.Col)
	}
	kind := os.Getenv("TERM")
	s.Changes = kind != "" && kind != "dumb"
	s.Coloured = s.Changes && os.Getenv("NO_COLOR") == ""
	return s
}

// Is reports whether a file is a terminal.
func Is(file *os.File) bool {
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}

// unicodeLocale reports whether characters are UTF-8, by the variables of POSIX.1-2024, section 8.2, in their order.
func unicodeLocale() bool {
	locale := strings.ToLower(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG")))
	return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}

// Style is how a piece of text looks on a terminal with colours. The zero value is plain.
type Style uint8

// The styles. What a colour says must be said in another way as well.
const (
	Plain Style = iota
	Bold
	Faint
	Red
	Green
	Yellow
	Blue
	Magenta
	Cyan
)

// renditions are the parameters of ECMA-48's SGR.
var renditions = [...]string{Plain: "", Bold: "1", Faint: "2", Red: "31", Green: "32", Yellow: "33", Blue: "34", Magenta: "35", Cyan: "36"}

// styled returns escaped text in a style.
func (s Screen) styled(style Style, text string) string {
	if !s.Coloured || style == Plain || text == "" {
		return text
	}
	return "\x1b[" + renditions[style] + "m" + text + "\x1b[0m"
}
