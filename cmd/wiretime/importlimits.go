package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"wiretime/site/recording"
)

// addLimits adds the flags that change the limits of an import.
func addLimits(c *cobra.Command, l *recording.Limits) {
	*l = l.OrDefault()
	f := c.Flags()
	f.IntVar(&l.Exchanges, "max-requests", l.Exchanges, "most requests of a recording, or files of a folder")
	f.Var((*octets)(&l.Body), "max-body", "longest body, encoded or decoded; longer ones are left out")
	f.Var((*octets)(&l.Total), "max-size", "most octets of the file or folder without compression, and of all bodies together")
}

// octets is the value of a flag: a positive number of octets, such as 4GiB.
type octets int64

var octetUnits = []struct {
	name   string
	octets int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}}

// Set parses a number of octets.
func (o *octets) Set(text string) error {
	number, unit := text, int64(1)
	for _, u := range octetUnits {
		if digits, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = digits, u.octets
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 1 || n > 1<<50/unit {
		return fmt.Errorf("invalid size %.40q: want a positive number with a unit, such as 4GiB or 500MB", text)
	}
	*o = octets(n * unit)
	return nil
}

func (o *octets) String() string {
	for _, u := range octetUnits {
		if int64(*o)%u.octets == 0 {
			return strconv.FormatInt(int64(*o)/u.octets, 10) + u.name
		}
	}
	return ""
}

// Type names the value in the help.
func (o *octets) Type() string { return "SIZE" }
