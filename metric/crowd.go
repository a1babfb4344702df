package metric

import (
	"fmt"
	"strings"
	"time"

	"wiretime/evidence"
	"wiretime/study"
)

// Crowds returns the metrics and checks of crowds: what clients in number cost a server, and what they cost the machine
// that they are on.
func Crowds() Set {
	return Set{Metrics: crowdMetrics(), Checks: []Check{checkCrowdTLS, checkCrowdAgreement}}
}

// ofCrowd makes a metric of a crowd's readings.
func ofCrowd(m study.Metric, of func(*evidence.Crowd) (float64, bool)) Metric {
	return Metric{m, func(ev *evidence.Evidence) (float64, bool) {
		if ev.Crowd == nil {
			return 0, false
		}
		return of(ev.Crowd)
	}}
}

// per divides, unless it would be by nothing.
func per(v float64, n int) (float64, bool) { return v / float64(n), n > 0 }

func microseconds(d time.Duration) float64 { return float64(d) / 1e3 }

func kilobytes(octets int64) float64 { return float64(octets) / 1e3 }

const serverProcess = "processor time of the server's processes (of all their threads, and of those that they started)"

func crowdMetrics() []Metric {
	return []Metric{
		ofCrowd(study.Metric{
			Name: "took", Unit: "ms", Title: "loading",
			Definition: "How long it took on the clock of the wall until the clients, already connected, had loaded the page as often as they were to. It depends on the clients' processor time and on the machine, and serves to follow a run.",
		}, func(c *evidence.Crowd) (float64, bool) { return milliseconds(int64(c.Load.Took)), c.Load.Pages > 0 }),
		ofCrowd(study.Metric{
			Name: "server_cpu_page", Unit: "us", Title: "CPU/page",
			Definition: "Processor time per page: " + serverProcess + " while the clients, already connected, loaded the page, divided by the pages loaded. " +
				"On the loopback device Linux handles a segment's arrival in the time of whoever sent it, so that a part of the receiving side's work counts for the other side.",
		}, func(c *evidence.Crowd) (float64, bool) {
			return per(microseconds(c.Load.User+c.Load.Kernel), c.Load.Pages)
		}),
		ofCrowd(study.Metric{
			Name: "server_user_page", Unit: "us", Title: "user/page",
			Definition: "The part of server_cpu_page in user mode, as the kernel divides the sum, by samples.",
		}, func(c *evidence.Crowd) (float64, bool) { return per(microseconds(c.Load.User), c.Load.Pages) }),
		ofCrowd(study.Metric{
			Name: "server_kernel_page", Unit: "us", Title: "kernel/page",
			Definition: "The part of server_cpu_page in the kernel.",
		}, func(c *evidence.Crowd) (float64, bool) { return per(microseconds(c.Load.Kernel), c.Load.Pages) }),
		ofCrowd(study.Metric{
			Name: "server_cpu_mb", Unit: "us", Title: "CPU/MB",
			Definition: "As server_cpu_page, per 1,000,000 octets of content.",
		}, func(c *evidence.Crowd) (float64, bool) {
			return 1e6 * microseconds(c.Load.User+c.Load.Kernel) / float64(c.Load.Octets), c.Load.Octets > 0
		}),
		ofCrowd(study.Metric{
			Name: "server_cpu_client", Unit: "us", Title: "CPU/client",
			Definition: "Processor time for a client that connects: " + serverProcess + " while all clients opened all their connections, each with its handshake and a HEAD request, divided by the clients.",
		}, func(c *evidence.Crowd) (float64, bool) {
			return per(microseconds(c.Connect.User+c.Connect.Kernel), c.Clients)
		}),
		ofCrowd(study.Metric{
			Name: "server_cpu_idle", Unit: "us", Title: "CPU/s idle",
			Definition: "Processor time per second while all clients were connected and nothing was under way (activity idle).",
		}, func(c *evidence.Crowd) (float64, bool) {
			if c.Rest == nil || c.Rest.Took <= 0 {
				return 0, false
			}
			return microseconds(c.Rest.User+c.Rest.Kernel) / c.Rest.Took.Seconds(), true
		}),
		ofCrowd(study.Metric{
			Name: "server_memory", Unit: "kB", Title: "memory",
			Definition: "Memory of the server's processes with all clients connected, after they have loaded their pages: their proportional share of what is resident (PSS). " +
				"What the kernel keeps for connections is not in it.",
		}, func(c *evidence.Crowd) (float64, bool) { return kilobytes(c.Server.Resident), c.Server.Resident > 0 }),
		ofCrowd(study.Metric{
			Name: "server_memory_peak", Unit: "kB", Title: "peak memory",
			Definition: "The most that was resident of the server's processes since they started, added up (VmHWM). What the kernel keeps for connections is not in it.",
		}, func(c *evidence.Crowd) (float64, bool) { return kilobytes(c.Server.Peak), c.Server.Peak > 0 }),
		ofCrowd(study.Metric{
			Name: "server_memory_client", Unit: "kB", Title: "memory/client",
			Definition: "server_memory beyond what the server had before the first client, but after one client that has left, divided by the clients. " +
				"With few clients, what programs take from the system in large pieces decides it.",
		}, func(c *evidence.Crowd) (float64, bool) {
			return per(kilobytes(c.Server.Resident-c.Base.Resident), c.Clients)
		}),
		ofCrowd(study.Metric{
			Name: "client_memory_client", Unit: "kB", Title: "memory/client there",
			Definition: "As server_memory_client, of the process that holds the clients (package loader/many): these are not browsers.",
		}, func(c *evidence.Crowd) (float64, bool) {
			return per(kilobytes(c.Client.Resident-c.ClientBase.Resident), c.Clients)
		}),
		ofCrowd(study.Metric{
			Name: "connections", Unit: "connections", Title: "connections",
			Definition: "Connections that the clients had with the server, all at once.",
		}, func(c *evidence.Crowd) (float64, bool) { return float64(c.Connect.Connections), true }),
		ofCrowd(study.Metric{
			Name: "connections_client", Unit: "connections", Title: "connections/client",
			Definition: "Connections that were open at once (connections), divided by the number of clients.",
		}, func(c *evidence.Crowd) (float64, bool) { return per(float64(c.Connect.Connections), c.Clients) }),
		ofCrowd(study.Metric{
			Name: "handshakes", Unit: "handshakes", Title: "handshakes",
			Definition: "Cryptographic handshakes, all of them full, that clients and server completed, one for each connection; 0 in the clear.",
		}, func(c *evidence.Crowd) (float64, bool) { return float64(c.Connect.Handshakes), true }),
		ofCrowd(study.Metric{
			Name: "server_calls_page", Unit: "calls", Title: "calls/page",
			Definition: "System calls of the server's processes per page (activity active), counted in 50 pages or more that at most 50 of the clients loaded after the others, and for which the kernel stopped the server at each call. " +
				"Servers that take several requests from one call make fewer when they are fast.",
		}, func(c *evidence.Crowd) (float64, bool) {
			if c.Counted == nil {
				return 0, false
			}
			return per(float64(c.Counted.SystemCalls), c.Counted.Pages)
		}),
		ofCrowd(study.Metric{
			Name: "server_calls_mb", Unit: "calls", Title: "calls/MB",
			Definition: "As server_calls_page, per 1,000,000 octets of content.",
		}, func(c *evidence.Crowd) (float64, bool) {
			if c.Counted == nil || c.Counted.Octets == 0 {
				return 0, false
			}
			return 1e6 * float64(c.Counted.SystemCalls) / float64(c.Counted.Octets), true
		}),
		ofCrowd(study.Metric{
			Name: "client_cpu_page", Unit: "us", Title: "CPU/page there",
			Definition: "Processor time per page of the process that holds the clients, as server_cpu_page.",
		}, func(c *evidence.Crowd) (float64, bool) { return per(microseconds(c.Load.ClientTime), c.Load.Pages) }),
		ofCrowd(study.Metric{
			Name: "pages", Unit: "pages", Title: "pages",
			Definition: "Pages loaded while server_cpu_page was measured.",
		}, func(c *evidence.Crowd) (float64, bool) { return float64(c.Load.Pages), true }),
		ofCrowd(study.Metric{
			Name: "requests", Unit: "requests", Title: "requests",
			Definition: "Requests that were answered while these pages (pages) were loaded.",
		}, func(c *evidence.Crowd) (float64, bool) { return float64(c.Load.Requests), true }),
		ofCrowd(study.Metric{
			Name: "content", Unit: "B", Title: "content",
			Definition: "Octets of content that the clients received in these pages.",
		}, func(c *evidence.Crowd) (float64, bool) { return float64(c.Load.Octets), true }),
	}
}

// checkCrowdTLS is rule 1 for crowds: every connection had a handshake, and all handshakes agreed on TLS 1.3 with the same
// group and kind of key, so that these are not the difference. The clients themselves see to the protocol. The cipher
// suite is the server's choice; docs/servers.md says which one chooses another.
func checkCrowdTLS(ev *evidence.Evidence) []study.Violation {
	c := ev.Crowd
	if c == nil || len(c.TLS) == 0 {
		return nil
	}
	var list []study.Violation
	if len(c.TLS) > 1 {
		list = append(list, violation(1, "handshakes agreed on different terms: %s", strings.Join(c.TLS, "; ")))
	}
	const version, rest = "TLS 1.3, ", ", X25519, ECDSA P-256"
	if terms := c.TLS[0]; !strings.HasPrefix(terms, version) || !strings.HasSuffix(terms, rest) {
		list = append(list, violation(1, "handshakes agreed on %s, want %sa cipher suite%s", terms, version, rest))
	}
	if want := c.Connect.Connections; c.Connect.Handshakes != want {
		list = append(list, violation(1, "%d connections made %d handshakes", want, c.Connect.Handshakes))
	}
	return list
}

// checkCrowdAgreement is rule 4 for crowds: the clients opened the connections that they should, the server's kernel
// had as many, and all content came.
func checkCrowdAgreement(ev *evidence.Evidence) []study.Violation {
	c := ev.Crowd
	if c == nil {
		return []study.Violation{violation(4, "the crowd has no readings")}
	}
	var list []study.Violation
	differ := func(what string, is, want any) {
		if is != want {
			list = append(list, violation(4, "%s: %v instead of %v", what, is, want))
		}
	}
	differ("connections that the clients opened", c.Connect.Connections, c.Clients*c.PerClient)
	if c.Held >= 0 {
		differ("connections that the server's kernel had", c.Held, c.Connect.Connections)
	}
	differ("connections opened while pages were loaded", c.Load.Connections, 0)
	differ("octets of content", c.Load.Octets, c.Asked*int64(c.Load.Pages))
	if c.Load.Pages < c.Clients {
		list = append(list, violation(4, "%s for %d clients", fmt.Sprintf("%d pages", c.Load.Pages), c.Clients))
	}
	return list
}
