package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"wiretime/difference"
	"wiretime/english"
	"wiretime/terminal"
)

// shownResources is how many resources the table of them has.
const shownResources = 10

func printDifference(a, b *side, d *difference.Difference, nameA, nameB string, notes []string) error {
	printSide("A", a, d.A)
	printSide("B", b, d.B)
	for _, n := range notes {
		fmt.Fprintln(stdout, wrapped(n))
	}
	fmt.Fprintf(stdout, "\n%s\n\n", wrapped(terminal.Line(d.Sentence(nameA, nameB))))
	if err := printCauses(d); err != nil {
		return err
	}
	return printResources(d)
}

func printSide(letter string, s *side, of difference.Side) {
	loads := "load " + s.load
	if s.load == "" {
		loads = fmt.Sprintf("%s of run %d", english.Count(len(of.Loads), "valid load"), s.run)
		if len(of.Loads) > 1 {
			loads += "; the most typical is " + of.Typical
		}
	}
	fmt.Fprintf(stdout, "%s: %s\n   %s\n", letter, loads, terminal.Line(s.cell.Key()))
}

// wrapped breaks text into lines of at most 100 characters, unless a word is longer.
func wrapped(text string) string {
	const most = 100
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > most {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n")
}

// printCauses prints a row for each cause that takes time on either side.
func printCauses(d *difference.Difference) error {
	heading := "cause\tA, ms\tB, ms\tB - A, ms"
	if d.OnLoad.Interval != nil {
		heading += "\t95 % interval"
	}
	w := terminal.NewTable(stdout)
	fmt.Fprintln(w, heading+"\tmost of it")
	for i := range d.Causes {
		c := &d.Causes[i]
		if c.A == 0 && c.B == 0 && c.Value == 0 {
			continue
		}
		inA, inB := milliseconds(c.A), milliseconds(c.B)
		if c.Cause == difference.Bytes {
			inA, inB = kilobytes(c.OctetsA), kilobytes(c.OctetsB)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", c.Cause, inA, inB, timeWords(c.Time), mostOf(d, c))
	}
	fmt.Fprintf(w, "onLoad\t%s\t%s\t%s\t\n", milliseconds(d.A.OnLoad), milliseconds(d.B.OnLoad), timeWords(d.OnLoad))
	return w.Flush()
}

// timeWords writes a difference, and its interval if there is one.
func timeWords(t difference.Time) string {
	if t.Interval == nil {
		return signed(t.Value)
	}
	return fmt.Sprintf("%s\t%+.1f..%+.1f", signed(t.Value), float64(t.Interval.Low)/1e6, float64(t.Interval.High)/1e6)
}

// mostOf says which parts of a cause are the largest, and at which resource most of it arises, in ms.
func mostOf(d *difference.Difference, c *difference.Attribution) string {
	const most, least = 2, 1e5 // parts; ns
	var words []string
	if c.Cause == difference.Distance {
		words = append(words, fmt.Sprintf("requests: %.1f and %.1f", d.A.Requests, d.B.Requests))
	}
	for _, p := range c.Parts[:min(most, len(c.Parts))] {
		if p.Name != "" && max(p.Time, -p.Time) >= least {
			words = append(words, fmt.Sprintf("%+.1f %s", float64(p.Time)/1e6, p.Name))
		}
	}
	if len(c.Places) > 0 && max(c.Places[0].Time, -c.Places[0].Time) >= least {
		words = append(words, fmt.Sprintf("%+.1f at %s", float64(c.Places[0].Time)/1e6, resourceName(d, c.Places[0].URL)))
	}
	return strings.Join(words, ", ")
}

// printResources prints the resources at which most of the difference arises.
func printResources(d *difference.Difference) error {
	if len(d.Resources) == 0 {
		return nil
	}
	both, onlyA, onlyB := 0, 0, 0
	for _, r := range d.Resources {
		switch {
		case r.URL == "":
		case r.A == 0:
			onlyB++
		case r.B == 0:
			onlyA++
		default:
			both++
		}
	}
	fmt.Fprintf(stdout, "\nThe critical paths share %s; %d are only on A's, %d only on B's.\n\n", english.Count(both, "resource"), onlyA, onlyB)
	w := terminal.NewTable(stdout)
	fmt.Fprintln(w, "B - A, ms\ton the path of\tresource\tcauses, ms")
	left := d.OnLoad.Value
	for i, r := range d.Resources {
		if r.Time == 0 {
			break
		}
		if i == shownResources {
			fmt.Fprintf(w, "%s\t\tand %s\t\n", signed(left), english.Count(len(d.Resources)-i, "more resource"))
			break
		}
		left -= r.Time
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", signed(r.Time), onPaths(d, r), resourceName(d, r.URL), amounts(r))
	}
	return w.Flush()
}

// amounts lists the largest causes at a resource.
func amounts(r difference.Resource) string {
	const most, least = 3, 1e5 // causes; ns
	var words []string
	for i, c := range r.Causes {
		if i == most || i > 0 && max(c.Time, -c.Time) < least {
			break
		}
		words = append(words, fmt.Sprintf("%+.1f %s", float64(c.Time)/1e6, c.Cause))
	}
	return strings.Join(words, ", ")
}

// onPaths says on which side's paths a resource is.
func onPaths(d *difference.Difference, r difference.Resource) string {
	if len(d.A.Loads) > 1 || len(d.B.Loads) > 1 {
		return fmt.Sprintf("%d of %d, %d of %d", r.A, len(d.A.Loads), r.B, len(d.B.Loads))
	}
	switch {
	case r.A == 0:
		return "B"
	case r.B == 0:
		return "A"
	}
	return "A, B"
}

// resourceName names a resource of a critical path.
func resourceName(d *difference.Difference, url string) string {
	if url == "" {
		return "(before onLoad)"
	}
	return terminal.Line(d.Name(url))
}

// signed writes a difference in ns as ms, without rounding.
func signed(ns int64) string {
	if ns < 0 {
		return "-" + milliseconds(-ns)
	}
	return "+" + milliseconds(ns)
}

func kilobytes(octets float64) string { return fmt.Sprintf("%.1f kB", octets/1000) }
