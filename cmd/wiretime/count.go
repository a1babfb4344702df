package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"wiretime/artefact"
	"wiretime/counts"
	"wiretime/english"
	"wiretime/store"
	"wiretime/study"
	"wiretime/terminal"
)

// usualNames are what the counts call the program's own processes in a guest.
var usualNames = map[string]string{"init": "client and servers"}

// costs are what the loads of a cell cost.
type costs struct {
	cell   study.Cell
	counts []counts.Counts
}

// printCosts prints what the valid loads of a run on the virtual clock cost: what their programs asked of the guest's
// kernel, and the processor time of the host that it took; of each the median.
func printCosts(w io.Writer, st *store.Store, run int64) error {
	cells, err := readCosts(st, run)
	if err != nil {
		return err
	}
	if len(cells) == 0 {
		_, err := fmt.Fprintf(w, "\nNothing was counted: no valid load of this run was made with --count on the virtual clock.\n")
		return err
	}
	fmt.Fprintf(w, "\nWhat a load cost on the virtual clock, the median of each cell. Rounds are changes from the guest's kernel to the\n"+
		"program and back: for system calls, page faults and interrupts. Foreseen are system calls that the kernel had\n"+
		"answered beforehand, without a round.\n")
	table := terminal.NewTable(w)
	for _, c := range cells {
		fmt.Fprintf(table, "\n%s %s %s, %s\n", c.cell.Network.Name, c.cell.Subject(), c.cell.Over(), english.Count(len(c.counts), "load"))
		fmt.Fprintf(table, "program\tprocessor, ms\trounds\tcalls\tforeseen\tfaults\tmappings\tcalls by kind\n")
		for _, name := range c.programs() {
			of := func(value func(counts.Program) int64) int64 {
				return c.median(func(all counts.Counts) int64 { return value(all.Programs[name]) })
			}
			fmt.Fprintf(table, "%s\t%.1f\t%d\t%d\t%d\t%d\t%d\t%s\n", programName(name), float64(of(func(p counts.Program) int64 { return p.Processor }))/1e6,
				of(func(p counts.Program) int64 { return p.Rounds }), of(counts.Program.AllCalls), of(func(p counts.Program) int64 { return p.Foreseen }),
				of(func(p counts.Program) int64 { return p.Faults }), of(func(p counts.Program) int64 { return p.Mappings }), c.kinds(name))
		}
		fmt.Fprintf(table, "the guest's kernel\t%.1f\t\t\t\t\t\tidle %d, timers %d\n", float64(c.median(func(all counts.Counts) int64 { return all.Processor }))/1e6,
			c.median(func(all counts.Counts) int64 { return all.Idle }),
			c.median(func(all counts.Counts) int64 { return all.Events }))
	}
	return table.Flush()
}

// readCosts collects the costs of a run's valid loads from their artefacts, by cell, in the order of the study. Cells without
// counted loads are left out.
func readCosts(st *store.Store, run int64) ([]*costs, error) {
	results, err := st.Results(run)
	if err != nil {
		return nil, err
	}
	loads, err := st.Loads(run)
	if err != nil {
		return nil, err
	}
	var cells []*costs
	byKey := map[string]*costs{}
	for _, r := range results {
		c := &costs{cell: r.Cell}
		cells, byKey[r.Cell.Key()] = append(cells, c), c
	}
	for _, l := range loads {
		if l.Validity != store.Valid || l.Cell.Clock() != study.ClockVirtual || l.Artefacts == "" {
			continue
		}
		c, err := readCounts(filepath.Join(l.Artefacts, counts.File))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the run counted only later, when it was resumed
		}
		if err != nil {
			return nil, fmt.Errorf("read the counts of load %s: %w", l.ID, err)
		}
		of := byKey[l.Cell.Key()]
		of.counts = append(of.counts, c)
	}
	return slices.DeleteFunc(cells, func(c *costs) bool { return len(c.counts) == 0 }), nil
}

// largestCounts is how many octets the counts of a load may have.
const largestCounts = 1 << 20

func readCounts(name string) (c counts.Counts, err error) {
	text, err := artefact.Read(name, largestCounts)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	return c, err
}

// programs returns the names of the programs that any of the loads had, the one with most rounds first.
func (c *costs) programs() []string {
	rounds := map[string]int64{}
	for _, each := range c.counts {
		for name, p := range each.Programs {
			rounds[name] += p.Rounds
		}
	}
	return slices.SortedFunc(maps.Keys(rounds), func(a, b string) int {
		return cmp.Or(cmp.Compare(rounds[b], rounds[a]), cmp.Compare(a, b))
	})
}

func programName(name string) string {
	if usual := usualNames[name]; usual != "" {
		return usual
	}
	return terminal.Line(name)
}

// kinds lists a program's most frequent system calls.
func (c *costs) kinds(program string) string {
	const most = 8
	sums := map[string]int64{}
	for _, each := range c.counts {
		for call, n := range each.Programs[program].Calls {
			sums[call] += n
		}
	}
	calls := slices.SortedFunc(maps.Keys(sums), func(a, b string) int {
		return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b))
	})
	var list []string
	for _, call := range calls[:min(most, len(calls))] {
		n := c.median(func(all counts.Counts) int64 { return all.Programs[program].Calls[call] })
		list = append(list, fmt.Sprintf("%s %d", terminal.Line(call), n))
	}
	return strings.Join(list, ", ")
}

// median returns the median of a count over the loads; of two in the middle the smaller one.
func (c *costs) median(of func(counts.Counts) int64) int64 {
	values := make([]int64, len(c.counts))
	for i, each := range c.counts {
		values[i] = of(each)
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}
