package study

// Metric describes a figure of a load: what it is called and how to measure it again.
type Metric struct {
	Name       string `json:"name"`       // as it is stored and typed, such as "onload"
	Unit       string `json:"unit"`       // "ms", "B", or what is counted
	Title      string `json:"title"`      // as a table's heading
	Definition string `json:"definition"` // from when to when, or what counts
}

// Violation is one way in which a load breaks a validity rule.
type Violation struct {
	Rule   int    // its number, from 1 (docs/measuring.md)
	Detail string // a sentence with the URLs, flows or figures it is about
}

// Page is one page of a load that has several. Times are in ms, -1 where unknown.
type Page struct {
	URL     string  // that was navigated to
	Started float64 // navigationStart, since that of the load's first page
	DCL     float64 // since the page's own navigationStart, as are the next two
	OnLoad  float64
	PLT     float64
}

// ServerVersionKey returns the key under which a run's environment holds a server's version.
func ServerVersionKey(server string) string { return "server_" + server }
