package setup

import (
	"fmt"
	"slices"
	"strings"
)

// packages returns the packages that provide the programs, without duplicates. It skips
// programs that this distribution does not package.
func (d Distribution) packages(programs []program) []string {
	var names []string
	for _, p := range programs {
		for name := range strings.FieldsSeq(p.from[d.family]) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// advice returns the commands that install the programs, one per line, to be run as root.
func (d Distribution) advice(programs []program) string {
	var lines, others []string
	if packages := d.packages(programs); len(packages) > 0 {
		lines = append(lines, "    "+strings.Join(slices.Concat(d.install, packages), " "))
	}
	for _, p := range programs {
		switch {
		case p.from[d.family] != "":
		case p.otherwise[d.family] != "":
			lines = append(lines, "    "+p.otherwise[d.family])
		default:
			others = append(others, p.name)
		}
	}
	if others != nil {
		lines = append(lines, fmt.Sprintf("    and, without a known package on %s: %s", d.Name, strings.Join(others, ", ")))
	}
	return strings.Join(lines, "\n")
}

// names joins the programs' names for a sentence.
func names(programs []program) string {
	var all []string
	for _, p := range programs {
		all = append(all, p.name)
	}
	return strings.Join(all, ", ")
}

// kernelSource is the URL of a Linux source that is known to work, for distributions
// without a recent one.
const kernelSource = "https://cdn.kernel.org/pub/linux/kernel/v7.x/linux-7.3.4.tar.xz"

// sourceAdvice says how to get the source of the virtual clock's kernel on a distribution
// other than Debian.
func (d Distribution) sourceAdvice() string {
	file := kernelSource[strings.LastIndex(kernelSource, "/")+1:]
	return fmt.Sprintf("    curl -LO %s\n    make run KERNEL_SOURCE=%s", kernelSource, file)
}
