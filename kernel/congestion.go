package kernel

import (
	"slices"
	"strings"
)

// controlOption begins the name of the option of each of Linux's congestion
// controls (net/ipv4/Kconfig).
const controlOption = "CONFIG_TCP_CONG_"

// CongestionControls names TCP's congestion controls in guests of k, as Linux
// does: "reno", which every kernel has, and those of our configuration that its
// source took.
func (k Kernel) CongestionControls() ([]string, error) {
	r, err := k.Record()
	if err != nil {
		return nil, err
	}
	fragment, err := made.ReadFile("config.fragment")
	if err != nil {
		panic("kernel: embedded configuration: " + err.Error())
	}
	return controls(string(fragment), r.Unmet), nil
}

// controls are the congestion controls that a configuration turns on, but for
// the unmet lines.
func controls(fragment string, unmet []string) []string {
	all := []string{"reno"}
	for line := range strings.Lines(fragment) {
		line = strings.TrimSpace(line)
		option, ok := strings.CutPrefix(line, controlOption)
		name, value, _ := strings.Cut(option, "=")
		if !ok || value != "y" || slices.Contains(unmet, line) {
			continue
		}
		switch name {
		case "ADVANCED": // only shows the others
		case "HSTCP":
			all = append(all, "highspeed")
		default:
			all = append(all, strings.ToLower(name))
		}
	}
	slices.Sort(all)
	return all
}
