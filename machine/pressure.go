package machine

import (
	"os"
	"strings"
)

// Pressure is what the kernel says of how long programs wait for processors, memory and
// disks (PSI; Linux, Documentation/accounting/psi): by "cpu", "memory" and "io", the line
// on time in which some program waited. What the kernel does not say is left out. It is
// brought up to date every two seconds only, so loads cannot be judged by it.
func Pressure() map[string]string {
	pressure := map[string]string{}
	for _, resource := range []string{"cpu", "memory", "io"} {
		text, err := os.ReadFile("/proc/pressure/" + resource)
		if err != nil {
			continue
		}
		some, _, _ := strings.Cut(string(text), "\n")
		pressure[resource] = some
	}
	return pressure
}
