package terminal_test

import (
	"fmt"
	"strings"
	"testing"

	"wiretime/terminal"
	"wiretime/terminal/terminaltest"
)

const figures = `protocol	DCL, ms	onLoad, ms	n	why
http/1.1	700 (700..700)	6284 (6275..6314)	3	everything went well
h3	718 (718..719)	3420 (3420..3421)	10	a packet of the handshake was lost
`

func TestTable(t *testing.T) {
	for _, c := range []struct {
		name, text string
		columns    int
		want       string
	}{
		{"it fits", figures, 100, `
protocol  DCL, ms         onLoad, ms         n   why
http/1.1  700 (700..700)  6284 (6275..6314)  3   everything went well
h3        718 (718..719)  3420 (3420..3421)  10  a packet of the handshake was lost
`},
		{"sentences are wrapped", figures, 67, `
protocol  DCL, ms         onLoad, ms         n   why
http/1.1  700 (700..700)  6284 (6275..6314)  3   everything went
                                                 well
h3        718 (718..719)  3420 (3420..3421)  10  a packet of the
                                                 handshake was lost
`},
		{"figures go on below", figures, 44, `
protocol  DCL, ms         onLoad, ms
http/1.1  700 (700..700)  6284 (6275..6314)
h3        718 (718..719)  3420 (3420..3421)

protocol  n   why
http/1.1  3   everything went well
h3        10  a packet of the handshake was
              lost
`},
		{"names are shortened", "name\trate\tURL\nsubway-after-the-match-of-the-year\t3.5\thttps://www.page.test/scripts/application.js\n", 50, `
name                   rate  URL
subway-aft…f-the-year  3.5   https://www.page.test/scripts/application.js
`},
		{"names begin with digits, too", "network\tms\n3g-weak-at-the-lake-of-zurich\t12\n", 24, `
network               ms
3g-weak-at…of-zurich  12
`},
		{"headings are wrapped", "cell\tpackets lost on the way\nh2\t1\nh3\t22\n", 20, `
cell  packets lost
      on the way
h2    1
h3    22
`},
		{"wide characters", "名\t값\n東京\t1\nh2\t2\n", 80, `
名    값
東京  1
h2    2
`},
		{"tables apart", "a\tb\n\nalone\n\nlong name\tb\n", 80, `
a  b

alone

long name  b
`},
		{"indented names", "   a name of several words\theld\n", 20, `
   a name of    held
   several
   words
`},
		{"what a terminal would obey", "a\x1b[2J\tb\n\x1b[2J\n", 80, `
a\x1b[2J  b
\x1b[2J
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			clean(t, map[string]string{"TERM": "xterm", "NO_COLOR": "1", "LANG": "C.UTF-8"})
			on := terminaltest.Open(t, c.columns)
			table := terminal.NewTable(terminal.NewWriter(on.Side))
			fmt.Fprint(table, c.text)
			if err := table.Flush(); err != nil {
				t.Fatal(err)
			}
			if got := "\n" + strings.ReplaceAll(on.Close(), "\r\n", "\n"); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestTableElsewhere: in a file each row stays a line, whatever the width.
func TestTableElsewhere(t *testing.T) {
	var out strings.Builder
	table := terminal.NewTable(&out)
	table.Style = func(string, string) terminal.Style { return terminal.Red }
	fmt.Fprint(table, strings.ReplaceAll(figures, "\n", strings.Repeat(" and so on", 30)+"\n"))
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Count(got, "\n") != 3 || strings.Contains(got, "\x1b") || !strings.Contains(got, "h3        718 (718..719)  3420") {
		t.Errorf("it printed %q", got)
	}
}

// TestTableInColour: a cell's colour depends on its column.
func TestTableInColour(t *testing.T) {
	clean(t, map[string]string{"TERM": "xterm"})
	on := terminaltest.Open(t, 80)
	table := terminal.NewTable(terminal.NewWriter(on.Side))
	table.Right = true
	table.Style = func(top, cell string) terminal.Style {
		if top == "failed" && cell == "1" {
			return terminal.Red
		}
		return terminal.Plain
	}
	fmt.Fprint(table, "n\tfailed\t\n1\t1\t\n")
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := on.Close(), "n  failed\r\n1  \x1b[31m     1\x1b[0m\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
