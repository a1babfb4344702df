package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"wiretime/atomicfile"
)

const (
	pageFile   = "docs/campaign-simulation.md"
	tableBegin = "<!-- simulated campaigns -->\n"
	tableEnd   = "<!-- end of simulated campaigns -->"
)

// writePage puts the table of the campaigns into the page.
func writePage(all []outcome) error {
	text, err := os.ReadFile(pageFile)
	if err != nil {
		return err
	}
	changed, err := withTable(string(text), table(all))
	if err != nil {
		return fmt.Errorf("%s: %w", pageFile, err)
	}
	return atomicfile.WriteBytes(pageFile, []byte(changed))
}

// withTable returns a page with the table between its marks.
func withTable(text, table string) (string, error) {
	before, rest, begins := strings.Cut(text, tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		return "", fmt.Errorf("it has no place for the table: put %q and %q there, each in a line of its own", strings.TrimSpace(tableBegin), tableEnd)
	}
	return before + tableBegin + "\n" + table + "\n" + tableEnd + after, nil
}

// table shows what campaigns have cost.
func table(all []outcome) string {
	var b strings.Builder
	columns := []string{"workers", "loads", "artefacts of an attempt", "made a minute", "taken a minute", "best minute", "processor ms per load", "planning, ms per load",
		"memory, MB", "database, kB per load", "messages per load", "kB per load"}
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat(" --- |", len(columns)))
	for _, o := range all {
		loads, made, minute := float64(o.Point.Loads), "at once", ""
		if o.Point.Rate > 0 {
			made = grouped(o.Point.Rate)
		}
		if o.Minute > 0 {
			minute = hundreds(float64(o.Minute))
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %s | %s | %.2f | %.2f | %d | %.1f | %.1f | %.1f |\n",
			grouped(o.Point.Workers), grouped(o.Point.Loads), o.Point.Artefacts, made, hundreds(o.Rate), minute, ms(o.Taking.Used)/loads, ms(o.Planning.Used)/loads,
			o.Memory/1e6, float64(o.Store)/loads/1e3, float64(o.Messages)/loads, float64(o.Octets)/loads/1e3)
	}
	var versions []string
	for _, o := range all {
		if !slices.Contains(versions, o.Version) {
			versions = append(versions, o.Version)
		}
	}
	fmt.Fprintf(&b, "\n<sub>Made by `make campaign-simulation`: Wiretime %s, %s.</sub>\n", strings.Join(versions, " and "), all[0].On)
	return b.String()
}

// grouped writes a number as in 100,000.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// hundreds writes a number rounded to hundreds.
func hundreds(n float64) string { return grouped(int(n+50) / 100 * 100) }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
