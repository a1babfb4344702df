package report

import (
	"slices"

	"wiretime/store"
	"wiretime/study"
)

var uploadKind = kind{
	contenders:   []study.Axis{study.AxisProtocol, study.AxisServer},
	apart:        []study.Axis{study.AxisServer, study.AxisTCPWindow, study.AxisTLS},
	metrics:      []string{"upload_time", "goodput", "first_octet", "intake"},
	overview:     []string{"upload_time", "goodput", "first_octet", "intake"},
	clockMetrics: []string{"upload_time"},
	followed:     []string{"upload_time", "goodput"},
	fewest:       3,
	checks:       func(Axes) []Check { return slices.Clone(uploadChecks) },
	network:      func(_ Axes, c study.Cell) Network { return describePath(c.Network) },
	extend:       func(d *Data, _ Axes, _ []store.Result) { d.Uploads = true },
}

// uploadChecks are the validity rules as they apply to uploads.
var uploadChecks = []Check{
	pageChecks[0],
	{Rule: 2, Title: "Connections were cold", Short: "not cold"},
	pageChecks[2],
	{Rule: 4, Title: "The sink received every octet, and HAR, server log and packets agree on it", Short: "with captures that disagree"},
	pageChecks[4],
}
