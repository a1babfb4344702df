package machine

import (
	"os"
	"strings"
)

// Pressure returns the kernel's pressure stall information (PSI; Linux,
// Documentation/accounting/psi): the "some" line of each of "cpu", "memory" and "io".
// Files that the kernel does not have are left out. The kernel updates it only every two
// seconds, so loads cannot be judged by it.
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
