// Package metric turns the evidence of one load into figures, and checks that the parts of the evidence agree with each
// other and with what was asked for. Each kind of load has its own [Set] of both.
package metric

import (
	"fmt"
	"net/netip"
	"strings"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/study"
)

// Metric is one figure of a load.
type Metric struct {
	study.Metric
	// Of returns the figure, or false if it does not apply to the load or what it needs was not captured.
	Of func(*evidence.Evidence) (value float64, ok bool)
}

// Check looks for violations of one validity rule. The rules are:
//
//	1  every request was answered over the protocol that the cell asked for
//	2  what the client knew when the load began is what the cell asked for
//	4  the parts of the evidence agree on what was fetched
//
// Rules 3 (lateness) and 7 (processor time) have limits that the study sets; package runner checks them.
type Check func(*evidence.Evidence) []study.Violation

// Set is what is worked out of the evidence of one kind of load.
type Set struct {
	Metrics []Metric // in the order in which a reader wants them
	Checks  []Check
}

// Values returns the figures that a load has, by the metrics' names.
func (s Set) Values(ev *evidence.Evidence) map[string]float64 {
	values := map[string]float64{}
	for _, m := range s.Metrics {
		if v, ok := m.Of(ev); ok {
			values[m.Name] = v
		}
	}
	return values
}

// Violations returns what the checks find. A valid load has none.
func (s Set) Violations(ev *evidence.Evidence) (list []study.Violation) {
	for _, check := range s.Checks {
		list = append(list, check(ev)...)
	}
	return list
}

// milliseconds turns ns into ms.
func milliseconds(ns int64) float64 { return float64(ns) / 1e6 }

// violation is one way in which a load breaks a rule.
func violation(rule int, format string, values ...any) study.Violation {
	return study.Violation{Rule: rule, Detail: fmt.Sprintf(format, values...)}
}

// endpoints returns the flow of a server log's entry, from client to server, as the client has it.
func endpoints(ev *evidence.Evidence, e *capture.ServerEntry) (capture.Flow, error) {
	client, err := netip.ParseAddrPort(e.Client)
	if err != nil {
		return capture.Flow{}, fmt.Errorf("the server log names the client %q: %w", e.Client, err)
	}
	server, err := netip.ParseAddrPort(e.Server)
	if err != nil {
		return capture.Flow{}, fmt.Errorf("the server log names the server %q: %w", e.Server, err)
	}
	protocol := uint8(capture.TCP)
	if e.Protocol == "h3" {
		protocol = capture.UDP
	}
	return capture.Flow{
		Protocol:    protocol,
		Source:      ev.Inside(netip.AddrPortFrom(client.Addr().Unmap(), client.Port())),
		Destination: netip.AddrPortFrom(server.Addr().Unmap(), server.Port()),
	}, nil
}

// some names the first few of a list.
func some(list []string) string {
	const few = 3
	if len(list) <= few {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:few], ", "), len(list)-few)
}
