package setup

import (
	"fmt"
	"slices"
	"strings"
)

// packages are those that provide the programs, each once, without the programs that this
// distribution has no package of.
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

// advice says what to do, as root, to have the programs: commands to copy, one a line.
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
		lines = append(lines, fmt.Sprintf("    and, which no package that is known here has on %s: %s", d.Name, strings.Join(others, ", ")))
	}
	return strings.Join(lines, "\n")
}

// names lists programs for a sentence.
func names(programs []program) string {
	var all []string
	for _, p := range programs {
		all = append(all, p.name)
	}
	return strings.Join(all, ", ")
}

// kernelSource is where a Linux that is known to work is to be had, for distributions that
// have none new enough.
const kernelSource = "https://cdn.kernel.org/pub/linux/kernel/v7.x/linux-7.3.4.tar.xz"

// sourceAdvice says how to come by the source of the virtual clock's kernel on a
// distribution that is not Debian.
func (d Distribution) sourceAdvice() string {
	file := kernelSource[strings.LastIndex(kernelSource, "/")+1:]
	return fmt.Sprintf("    curl -LO %s\n    make run KERNEL_SOURCE=%s", kernelSource, file)
}
