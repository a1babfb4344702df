package kernel

import (
	"slices"
	"strings"
)

// controlOption is the prefix of the options of Linux's congestion controls
// (net/ipv4/Kconfig).
const controlOption = "CONFIG_TCP_CONG_"

// CongestionControls returns the TCP congestion controls in guests of k by their Linux
// names: "reno", which every kernel has, and those of our configuration that the source
// supports.
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

// controls returns the congestion controls that a configuration turns on, without the unmet
// lines.
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
		case "ADVANCED": // only makes the others visible
		case "HSTCP":
			all = append(all, "highspeed")
		default:
			all = append(all, strings.ToLower(name))
		}
	}
	slices.Sort(all)
	return all
}
