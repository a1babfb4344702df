package terminal

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
)

// Table aligns the columns of text whose cells are separated by tabs. Neighbouring lines with tabs are one table; the others stay as they
// are. On a terminal a table fits the width: names and sentences are wrapped and, where one word is too long, shortened in the
// middle; figures never are. A table whose figures are too wide goes on below, with its first column again.
type Table struct {
	// Right aligns the cells to the right; then each line must end with a tab.
	Right bool
	// Style returns how a cell looks, by it and the cell at the top of its column; nil: plain.
	Style func(top, cell string) Style

	to   io.Writer
	text bytes.Buffer
}

// gap is how many spaces are between two columns.
const gap = 2

// NewTable returns a table that is printed by Flush.
func NewTable(to io.Writer) *Table { return &Table{to: to} }

// Write adds to the table.
func (t *Table) Write(b []byte) (int, error) { return t.text.Write(b) }

// Flush prints what was written, and empties the table.
func (t *Table) Flush() error {
	defer t.text.Reset()
	w, ours := t.to.(Writer)
	if !ours || w.Screen().Columns == 0 {
		flags := uint(0)
		if t.Right {
			flags = tabwriter.AlignRight
		}
		plain := tabwriter.NewWriter(t.to, 0, 0, gap, ' ', flags)
		if _, err := t.text.WriteTo(plain); err != nil {
			return err
		}
		return plain.Flush()
	}
	return w.put(t.fitted(w.Screen(), t.text.String()))
}

// fitted lays text out for a screen.
func (t *Table) fitted(screen Screen, text string) string {
	var out strings.Builder
	var rows [][]string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.Contains(line, "\t") {
			rows = append(rows, cells(line))
			continue
		}
		t.block(&out, screen, rows)
		rows = nil
		out.WriteString(Escape(line) + "\n")
	}
	t.block(&out, screen, rows)
	return out.String()
}

func cells(line string) []string {
	all := strings.Split(line, "\t")
	for i, c := range all {
		all[i] = Line(c)
	}
	return all
}

// block writes neighbouring rows.
func (t *Table) block(out *strings.Builder, s Screen, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	columns := measure(rows)
	for i, part := range fit(columns, s.Columns) {
		if i > 0 {
			out.WriteByte('\n')
		}
		for _, row := range rows {
			t.row(out, s, columns, part, rows[0], row)
		}
	}
}

// row writes some columns of a row, on as many lines as its highest cell needs.
func (t *Table) row(out *strings.Builder, s Screen, columns []column, part []int, top, row []string) {
	var wrapped [][]string
	height := 1
	for _, c := range part {
		var lines []string
		if c < len(row) {
			lines = s.wrap(row[c], columns[c].width, c < len(columns)-1)
		}
		wrapped, height = append(wrapped, lines), max(height, len(lines))
	}
	for i := range height {
		line, space := "", ""
		for n, c := range part {
			if i < len(wrapped[n]) {
				cell, style := padded(wrapped[n][i], columns[c].width, t.Right), Plain
				if t.Style != nil && c < len(top) {
					style = t.Style(top[c], row[c])
				}
				trimmed := strings.TrimRight(cell, " ")
				line += space + s.styled(style, trimmed)
				space = cell[len(trimmed):]
			} else {
				space += strings.Repeat(" ", columns[c].width)
			}
			space += strings.Repeat(" ", gap)
		}
		out.WriteString(line + "\n")
	}
}

// column is a column of a table. Its width is what it gets, once fit has been called.
type column struct {
	width int // before that: of its widest cell
	least int // without it a figure would have to be cut
}

// readable is how many characters of a name or a sentence a line should hold at least.
const readable = 14

// figure matches a number, alone or with a unit, an interval or the like behind it.
var figure = regexp.MustCompile(`^[-+~<>≤≥±(\[]*\d[\d.,]*( *$|[ (\[%×].*)`)

// whole reports whether a cell must stay whole: a figure, but not a sentence that begins with one.
func whole(cell string) bool {
	const longest = 32
	return Width(cell) <= longest && figure.MatchString(cell)
}

// measure returns the columns of rows. The first row may be a heading, whose words may go below each other.
func measure(rows [][]string) []column {
	count := 0
	for _, row := range rows {
		if row[len(row)-1] == "" { // what follows a tab at the end of the line
			row = row[:len(row)-1]
		}
		count = max(count, len(row))
	}
	columns := make([]column, count)
	for i, row := range rows {
		for c, cell := range row[:min(count, len(row))] {
			columns[c].width = max(columns[c].width, Width(cell))
			columns[c].least = max(columns[c].least, least(cell, i == 0))
		}
	}
	return columns
}

// least returns how narrow a cell may become. Figures within a sentence stay whole, too.
func least(cell string, heading bool) int {
	if !heading && whole(cell) {
		return Width(cell)
	}
	widest := 0
	for word := range strings.FieldsSeq(cell) {
		width := Width(word)
		if !whole(word) {
			width = min(width, readable)
		}
		widest = max(widest, width)
	}
	return widest
}

// fit sets the columns' widths and returns which columns go below each other.
func fit(columns []column, room int) [][]int {
	var part []int
	for i := range columns {
		part = append(part, i)
	}
	if shrink(columns, part, room) {
		return [][]int{part}
	}
	columns[0].width = max(columns[0].least, min(columns[0].width, room/3))
	var parts [][]int
	for next := 1; next < len(columns); {
		part := []int{0}
		used := columns[0].width
		for ; next < len(columns); next++ {
			if used += gap + columns[next].least; used > room && len(part) > 1 {
				break
			}
			part = append(part, next)
		}
		if !shrink(columns, part, room) { // a single figure beside the first column
			for _, c := range part {
				columns[c].width = columns[c].least
			}
		}
		parts = append(parts, part)
	}
	return parts
}

// shrink takes from the widest columns of a part until it fits, and reports whether it does. If it cannot, it leaves
// all as they are.
func shrink(columns []column, part []int, room int) bool {
	room -= gap * (len(part) - 1)
	needed, widest := 0, 0
	for _, c := range part {
		needed += columns[c].least
		widest = max(widest, columns[c].width)
	}
	if needed > room {
		return false
	}
	// Columns that are wider than the limit are cut to it, down to the least they need.
	limit := widest
	for ; limit > 0; limit-- {
		sum := 0
		for _, c := range part {
			sum += limited(columns[c], limit)
		}
		if sum <= room {
			break
		}
	}
	for _, c := range part {
		columns[c].width = limited(columns[c], limit)
	}
	return true
}

func limited(c column, limit int) int { return min(c.width, max(c.least, limit)) }

// wrap breaks a cell into lines. Words that are wider than a line are shortened, unless they may reach beyond it, as in the last column.
func (s Screen) wrap(cell string, columns int, short bool) []string {
	if Width(cell) <= columns {
		return []string{cell}
	}
	words := strings.Fields(cell)
	indent := cell[:len(cell)-len(strings.TrimLeft(cell, " "))]
	var lines []string
	line := indent
	for _, word := range words {
		if short {
			word = s.Shorten(word, columns-len(indent))
		}
		switch {
		case line == indent:
			line += word
		case Width(line)+1+Width(word) <= columns:
			line += " " + word
		default:
			lines = append(lines, line)
			line = indent + word
		}
	}
	return append(lines, line)
}
