package report

import (
	"slices"

	"wiretime/store"
	"wiretime/study"
)

// Crowds holds what only a report of crowds has.
type Crowds struct {
	Activities []Fact `json:"activities"` // what the clients do, by the activity's name
}

var crowdKind = kind{
	contenders:   []study.Axis{study.AxisProtocol, study.AxisServer},
	together:     true,
	metrics:      []string{"server_cpu_page", "server_cpu_client", "server_memory_client", "server_memory_peak", "connections_client", "handshakes"},
	optional:     []string{"server_calls_page", "server_cpu_idle"},
	overview:     []string{"server_cpu_page", "server_cpu_client", "server_memory_client", "server_memory_peak", "took"},
	clockMetrics: []string{"server_cpu_page"},
	checks:       func(Axes) []Check { return slices.Clone(crowdChecks) },
	network:      func(_ Axes, c study.Cell) Network { return describePath(c.Network) },
	extend: func(d *Data, _ Axes, results []store.Result) {
		d.Crowds = &Crowds{Activities: meanings(results, study.Cell.By, func(name string) string { return activityMeanings[name] })}
	},
}

// activityMeanings explain the activities.
var activityMeanings = map[string]string{
	study.ActivityIdle:   "Each client connects and loads the page once; then all are idle.",
	study.ActivityActive: "Each client connects and loads the page, again and again until all clients together have loaded enough pages.",
}

// crowdChecks are the validity rules as they apply to crowds.
var crowdChecks = []Check{
	{Rule: 1, Title: "Every connection used the protocol that the cell asked for, after a full handshake with the same version, cipher suite, group and kind of key"},
	{Rule: 4, Title: "Clients and the server's kernel agree on the number of connections, and all content arrived", Short: "with readings that disagree"},
}
