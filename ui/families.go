package ui

// Family is a family of metrics at /metrics (OpenMetrics 1.0).
type Family struct {
	Name   string // without the ending that counters and infos add
	Type   string // gauge, counter, info or summary
	Unit   string // "seconds", "bytes", or "" for what is counted
	Help   string
	Labels []string
}

var (
	ofRun  = []string{"run", "study"}
	ofCell = []string{"run", "study", "cell", "metric", "site", "protocol", "network", "loader", "server", "clock"}
)

// Families returns the families of metrics in the order in which they are served. Those with a label run are of the store's latest
// run only.
func Families() []Family {
	return []Family{
		{"wiretime_build", "info", "", "The program that serves the metrics.", []string{"version"}},
		{"wiretime_runs", "gauge", "", "Runs in the store.", nil},
		{"wiretime_run", "info", "", "The latest run.", []string{"run", "study", "clock", "wiretime_version"}},
		{"wiretime_run_start_time_seconds", "gauge", "seconds", "When the run began, as Unix time.", ofRun},
		{"wiretime_run_end_time_seconds", "gauge", "seconds", "When the run was finished, as Unix time.", ofRun},
		{"wiretime_run_active", "gauge", "", "1 while a process writes the run, else 0.", ofRun},
		{"wiretime_run_planned_loads", "gauge", "", "Loads of the run's plan.", ofRun},
		{"wiretime_run_done_loads", "gauge", "", "Planned loads that need no further attempt.", ofRun},
		{"wiretime_run_remaining_seconds", "gauge", "seconds", "Estimated time until the run is done.", ofRun},
		{"wiretime_attempts", "counter", "", "Attempts by their verdict.", append(ofRun[:2:2], "validity")},
		{"wiretime_violations", "counter", "", "Attempts that broke a validity rule.", append(ofRun[:2:2], "rule")},
		{"wiretime_load_lateness_seconds", "summary", "seconds", "Of each attempt the packet that left the emulator latest after its time.", append(ofRun[:2:2], "quantile")},
		{"wiretime_cell_median_seconds", "gauge", "seconds", "Median of a time over a cell's valid loads.", ofCell},
		{"wiretime_cell_median_low_seconds", "gauge", "seconds", "Lower end of the median's 95 % interval.", ofCell},
		{"wiretime_cell_median_high_seconds", "gauge", "seconds", "Upper end of the median's 95 % interval.", ofCell},
		{"wiretime_cell_median_bytes", "gauge", "bytes", "Median of a size over a cell's valid loads.", ofCell},
		{"wiretime_cell_attempts", "counter", "", "A cell's attempts by their verdict.", []string{"run", "study", "cell", "validity", "site", "protocol", "network", "loader", "server", "clock"}},
	}
}
