package network

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// MaxRide is the size in octets of the longest table of a ride: 1 MiB, some ten hours
// with a row for each second. Every guest and every cell of a store has a copy of its
// path's ride.
const MaxRide = 1 << 20

// Ride describes how one access link changes while its client moves and keeps its address: the
// rate and the delay of each direction, and when the link is down. A Ride does not repeat:
// after its end the link stays as the last row leaves it, like that of a client that has arrived.
type Ride struct {
	Name string
	Rows []Row         // in order of time, the first at 0
	End  time.Duration // after the last row
}

// Row holds the state of the link from a moment until the next row.
type Row struct {
	At                 time.Duration // since the path's first packet
	Down, Up           BitRate       // above 0, unless the link is down
	DownDelay, UpDelay time.Duration // one-way
	Link               LinkState
}

// LinkState says whether a link carries packets.
type LinkState uint8

// The states of a link.
const (
	LinkUp       LinkState = iota
	LinkHolding            // the link is down, and packets wait
	LinkDropping           // the link is down, and packets that wait or arrive are lost
)

// linkWords are the words that the last column of a table may have: one for each state, and that of the last row.
var linkWords = []string{"up", "holding", "dropping", endWord}

const endWord = "end"

// columns are the head of a table.
const columns = "seconds,down_kbit,up_kbit,down_ms,up_ms,link"

// ParseRide reads a ride from a table of comma-separated values whose first line is
//
//	seconds,down_kbit,up_kbit,down_ms,up_ms,link
//
// Each row holds from its second until the next row: rates in kbit/s, one-way delays in ms, and
// "up", "holding" (down, packets wait) or "dropping" (down, packets are lost). A row with the
// link down leaves rates and delays empty. The last row has only the second and "end", so that
// a truncated table is detected. Empty lines and those that begin with # are skipped.
// Errors have the name, the line and, if one field is wrong, its column. A table longer than
// MaxRide octets is an error.
func ParseRide(name string, r io.Reader) (*Ride, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxRide+1))
	if err != nil {
		return nil, fmt.Errorf("parse ride %q: %w", name, err)
	}
	if len(text) > MaxRide {
		return nil, fmt.Errorf("parse ride %q: longer than %d octets; write fewer rows", name, MaxRide)
	}
	p := rideParser{ride: &Ride{Name: name}}
	for line := range bytes.Lines(text) {
		p.line++
		row := strings.TrimSpace(string(line))
		if row == "" || row[0] == '#' {
			continue
		}
		if err := p.row(row); err != nil {
			return nil, fmt.Errorf("parse ride %q, line %d: %w", name, p.line, err)
		}
	}
	if err := p.finish(); err != nil {
		return nil, fmt.Errorf("parse ride %q: %w", name, err)
	}
	return p.ride, nil
}

type rideParser struct {
	ride         *Ride
	line         int
	headed, over bool
}

func (p *rideParser) row(text string) error {
	if !p.headed {
		if text != columns {
			return fmt.Errorf("begins with %.60q; write the columns first: %s", text, columns)
		}
		p.headed = true
		return nil
	}
	if p.over {
		return errors.New("unexpected row after the end row; remove it, or move the end row to the last line")
	}
	fields := strings.Split(text, ",")
	if want := strings.Count(columns, ",") + 1; len(fields) != want {
		return fmt.Errorf("%d fields instead of %d; the columns are %s", len(fields), want, columns)
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	at, err := decimal(fields[0], 9)
	if err != nil {
		return inColumn(0, err)
	}
	ride := p.ride
	switch n := len(ride.Rows); {
	case n == 0 && at != 0:
		return inColumn(0, fmt.Errorf("the first row is at %s; begin the ride at 0", fields[0]))
	case n > 0 && at <= int64(ride.Rows[n-1].At):
		return inColumn(0, fmt.Errorf("%s does not come after %s of the row before; sort the rows by time", fields[0], inSeconds(ride.Rows[n-1].At)))
	}
	return p.state(time.Duration(at), fields)
}

// state reads the columns after the time.
func (p *rideParser) state(at time.Duration, fields []string) error {
	ride, last := p.ride, len(fields)-1
	row := Row{At: at}
	switch word := fields[last]; word {
	case linkWords[LinkUp]:
		return p.up(row, fields)
	case linkWords[LinkHolding]:
		row.Link = LinkHolding
	case linkWords[LinkDropping]:
		row.Link = LinkDropping
	case endWord:
		ride.End, p.over = at, true
	default:
		return inColumn(last, fmt.Errorf("unknown word %.40q; write %s", word, strings.Join(linkWords, ", ")))
	}
	for i := 1; i < last; i++ {
		if fields[i] != "" {
			return inColumn(i, fmt.Errorf("%.40q in a row with %q; leave it empty", fields[i], fields[last]))
		}
	}
	if !p.over {
		ride.Rows = append(ride.Rows, row)
	}
	return nil
}

// up reads rates and delays.
func (p *rideParser) up(row Row, fields []string) error {
	for i, rate := range []*BitRate{&row.Down, &row.Up} {
		bits, err := decimal(fields[1+i], 3)
		if err == nil && bits == 0 {
			err = fmt.Errorf("a rate of 0 passes no packet; write %s or %s for the link, and leave rates and delays empty", linkWords[LinkHolding], linkWords[LinkDropping])
		}
		if *rate = BitRate(bits); err == nil {
			err = rate.validate()
		}
		if err != nil {
			return inColumn(1+i, err)
		}
	}
	for i, delay := range []*time.Duration{&row.DownDelay, &row.UpDelay} {
		ns, err := decimal(fields[3+i], 6)
		if *delay = time.Duration(ns); err == nil && *delay > maxDelay {
			err = fmt.Errorf("a delay of %v is outside 0 to %v", *delay, maxDelay)
		}
		if err != nil {
			return inColumn(3+i, err)
		}
	}
	p.ride.Rows = append(p.ride.Rows, row)
	return nil
}

func (p *rideParser) finish() error {
	switch {
	case !p.headed:
		return fmt.Errorf("the table is empty; write the columns first: %s", columns)
	case !p.over:
		return fmt.Errorf("the table ends at line %d without an end row: was it cut off? The last row is the ride's length in seconds and %q, as in 1800,,,,,%s", p.line, endWord, endWord)
	}
	return p.ride.validate()
}

// inColumn adds the column of a row to an error.
func inColumn(i int, err error) error {
	return fmt.Errorf("column %s: %w", strings.Split(columns, ",")[i], err)
}

// decimal reads a non-negative number with at most that many decimals, and returns it in units of the last
// decimal.
func decimal(text string, decimals int) (int64, error) {
	whole, fraction, _ := strings.Cut(text, ".")
	digits := whole + fraction
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, fmt.Errorf("%.40q is not a number; write digits, with a point before decimals", text)
	}
	if fraction = strings.TrimRight(fraction, "0"); len(fraction) > decimals {
		return 0, fmt.Errorf("%.40q has more than %d decimals", text, decimals)
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%.40q is too large", text)
	}
	return n, nil
}

// inDecimals is the inverse of decimal.
func inDecimals(n int64, decimals int) string {
	digits := fmt.Sprintf("%0*d", decimals+1, n)
	point := len(digits) - decimals
	return strings.TrimRight(strings.TrimRight(digits[:point]+"."+digits[point:], "0"), ".")
}

func inSeconds(d time.Duration) string { return inDecimals(int64(d), 9) }

// validate checks the rows, their order and the end.
func (ride *Ride) validate() error {
	if len(ride.Rows) == 0 {
		return errors.New("it has no row; write at least one before the end row")
	}
	up := false
	for i, row := range ride.Rows {
		next := ride.End
		if i+1 < len(ride.Rows) {
			next = ride.Rows[i+1].At
		}
		switch {
		case i == 0 && row.At != 0:
			return errors.New("its first row is not at 0")
		case next <= row.At:
			return fmt.Errorf("its rows are not in order of time at %s s", inSeconds(next))
		case row.Link == LinkUp && (row.Down <= 0 || row.Up <= 0 || row.Down.validate() != nil || row.Up.validate() != nil):
			return fmt.Errorf("its rates at %s s are not between %v and %v", inSeconds(row.At), MinBitRate, MaxBitRate)
		case row.Link == LinkUp && (validateDelay("", row.DownDelay) != nil || validateDelay("", row.UpDelay) != nil):
			return fmt.Errorf("its delays at %s s are not between 0 and %v", inSeconds(row.At), maxDelay)
		case row.Link > LinkDropping:
			return fmt.Errorf("the state of its link at %s s is unknown", inSeconds(row.At))
		}
		up = up || row.Link == LinkUp
	}
	switch {
	case !up:
		return errors.New("its link is never up; write at least one row with the link up")
	case ride.Rows[len(ride.Rows)-1].Link != LinkUp:
		return errors.New("it ends while the link is down, and the link would stay down for good; write a row with the link up before the end")
	}
	return nil
}

// Table returns the ride as ParseRide reads it.
func (ride *Ride) Table() string {
	var text strings.Builder
	text.WriteString(columns + "\n")
	for _, r := range ride.Rows {
		if r.Link == LinkUp {
			fmt.Fprintf(&text, "%s,%s,%s,%s,%s,", inSeconds(r.At), inDecimals(int64(r.Down), 3), inDecimals(int64(r.Up), 3),
				inDecimals(int64(r.DownDelay), 6), inDecimals(int64(r.UpDelay), 6))
		} else {
			text.WriteString(inSeconds(r.At) + ",,,,,")
		}
		text.WriteString(linkWords[r.Link] + "\n")
	}
	text.WriteString(inSeconds(ride.End) + ",,,,," + endWord + "\n")
	return text.String()
}

// rideJSON is a ride in JSON. Its table takes a quarter of the space of rows.
type rideJSON struct {
	Name  string `json:"name"`
	Table string `json:"table"`
}

// MarshalJSON implements json.Marshaler.
func (ride *Ride) MarshalJSON() ([]byte, error) {
	return json.Marshal(rideJSON{ride.Name, ride.Table()})
}

// UnmarshalJSON implements json.Unmarshaler.
func (ride *Ride) UnmarshalJSON(data []byte) error {
	var text rideJSON
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	parsed, err := ParseRide(text.Name, strings.NewReader(text.Table))
	if err != nil {
		return err
	}
	*ride = *parsed
	return nil
}
