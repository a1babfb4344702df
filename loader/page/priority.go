package page

// Priority is how much a page wants a resource, as Chromium's renderer and CDP
// name it. The network's names for the same five are IDLE, LOWEST, LOW, MEDIUM
// and HIGHEST.
type Priority uint8

// The priorities, lowest first.
const (
	VeryLow Priority = iota
	Low
	Medium
	High
	VeryHigh
)

var priorityNames = [...]string{VeryLow: "VeryLow", Low: "Low", Medium: "Medium", High: "High", VeryHigh: "VeryHigh"}

// String is CDP's Network.ResourcePriority.
func (p Priority) String() string { return priorityNames[p] }

// delayable is kDelayablePriorityThreshold of resource_scheduler.cc: below
// net::MEDIUM, which is High here.
func (p Priority) delayable() bool { return p < High }
