package study

// Metric describes a figure of a load: its name and how to measure it again.
type Metric struct {
	Name       string `json:"name"`       // as stored and typed, such as "onload"
	Unit       string `json:"unit"`       // "ms", "B", or what is counted
	Title      string `json:"title"`      // heading in tables
	Definition string `json:"definition"` // from when to when, or what counts
}

// Violation describes one way in which a load breaks a validity rule.
type Violation struct {
	Rule   int    // the rule's number, from 1 (docs/architecture.md#validity)
	Detail string // a sentence that names the URLs, flows or figures concerned
}

// Page holds the figures of one page of a load that has several. Times are in ms, -1 if unknown.
type Page struct {
	URL     string  // the URL navigated to
	Started float64 // navigationStart, relative to that of the load's first page
	DCL     float64 // relative to the page's own navigationStart, as are OnLoad and PLT
	OnLoad  float64
	PLT     float64
}

// ServerVersionKey returns the key under which a run's environment holds a server's version.
func ServerVersionKey(server string) string { return "server_" + server }

// QuickKey is the key under which a run's environment says, by true, that the run measures only the
// study's quick part.
const QuickKey = "quick"

// SitesKey is the key under which a run's environment holds the checksums of its sites' contents, by reference.
const SitesKey = "sites"
