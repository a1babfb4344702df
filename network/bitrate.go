package network

import (
	"fmt"
	"strconv"
	"strings"
)

// BitRate is a rate in bit/s at the IP layer. Zero means unlimited: a packet
// takes no time to serialise.
type BitRate int64

// The limits of a rate that is not unlimited. The lower one catches a forgotten
// unit; the upper one keeps the arithmetic within 64 bits.
const (
	MinBitRate BitRate = 1_000
	MaxBitRate BitRate = 1_000_000_000_000
)

// rateUnits are the units a rate may be written in, largest first, with their
// power of ten.
var rateUnits = [...]struct {
	name   string
	digits int
}{{"gbit", 9}, {"mbit", 6}, {"kbit", 3}, {"bit", 0}}

// ParseBitRate reads a rate such as "5mbit", "1.6mbit", "900kbit", "1gbit",
// "512000" (bit/s) or "unlimited". Units are powers of 1000 and their case does
// not matter. The rate must be a whole number of bit/s between MinBitRate and
// MaxBitRate, or 0 for unlimited. "5mbps" is refused: tools disagree on whether
// it means bits or bytes.
func ParseBitRate(s string) (BitRate, error) {
	fail := func(format string, args ...any) (BitRate, error) {
		return 0, fmt.Errorf("parse rate %q: %s", s, fmt.Sprintf(format, args...))
	}
	text := strings.ToLower(strings.TrimSpace(s))
	if text == "unlimited" {
		return 0, nil
	}
	if strings.HasPrefix(text, "-") {
		return fail("must not be negative; write it like 5mbit, or unlimited")
	}
	split := len(text) - len(strings.TrimLeft(text, "0123456789."))
	number, unit := text[:split], strings.TrimLeft(text[split:], " ")
	if number == "" {
		return fail("it does not begin with a number; write it like 5mbit, 900kbit or 512000")
	}
	digits := 0
	if unit != "" {
		known := false
		for _, u := range rateUnits {
			if u.name == unit {
				digits, known = u.digits, true
			}
		}
		if !known {
			return fail("unknown unit %q; write bit, kbit, mbit or gbit (per second, k = 1000)", unit)
		}
	}
	whole, fraction, _ := strings.Cut(number, ".")
	fraction = strings.TrimRight(fraction, "0")
	if strings.Contains(fraction, ".") || whole+fraction == "" && !strings.Contains(number, "0") {
		return fail("invalid number %q", number)
	}
	if len(fraction) > digits {
		return fail("not a whole number of bit/s; write fewer decimals")
	}
	bits, err := strconv.ParseInt("0"+whole+fraction+strings.Repeat("0", digits-len(fraction)), 10, 64)
	if err != nil {
		return fail("above %v, the most the emulator can serialise", MaxBitRate)
	}
	rate := BitRate(bits)
	if err := rate.validate(); err != nil {
		return fail("%v", err)
	}
	return rate, nil
}

func (r BitRate) validate() error {
	switch {
	case r < 0:
		return fmt.Errorf("a rate of %d bit/s is negative; write it like 5mbit, or unlimited", int64(r))
	case r > 0 && r < MinBitRate:
		return fmt.Errorf("a rate of %d bit/s is below %v; was a unit forgotten, as in 5mbit?", int64(r), MinBitRate)
	case r > MaxBitRate:
		return fmt.Errorf("a rate of %d bit/s is above %v, the most the emulator can serialise", int64(r), MaxBitRate)
	}
	return nil
}

// String writes the rate exactly, in the largest unit not above it, in the
// form ParseBitRate reads: "1.6mbit", "512kbit", "unlimited".
func (r BitRate) String() string {
	if r == 0 {
		return "unlimited"
	}
	text := strconv.FormatInt(int64(r), 10)
	for _, u := range rateUnits {
		if len(text) > u.digits && r > 0 {
			point := len(text) - u.digits
			if fraction := strings.TrimRight(text[point:], "0"); fraction != "" {
				return text[:point] + "." + fraction + u.name
			}
			return text[:point] + u.name
		}
	}
	return text + "bit"
}
