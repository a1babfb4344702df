package metric

import (
	"strings"
	"time"

	"wiretime/english"
	"wiretime/evidence"
	"wiretime/study"
)

// Crowds returns the metrics and checks of crowds: what many clients cost a server, and what they cost the machine
// that they run on.
func Crowds() Set {
	return Set{Metrics: crowdMetrics(), Checks: []Check{checkCrowdTLS, checkCrowdAgreement}}
}

// ofCrowd returns a metric that is computed from a crowd's readings.
func ofCrowd(m study.Metric, of func(*evidence.Crowd) (float64, bool)) Metric {
	return Metric{m, func(ev *evidence.Evidence) (float64, bool) {
		if ev.Crowd == nil {
			return 0, false
		}
		return of(ev.Crowd)
	}}
}

// per returns v/n. ok is false if n is 0.
func per(v float64, n int) (quotient float64, ok bool) { return v / float64(n), n > 0 }

func microseconds(d time.Duration) float64 { return float64(d) / 1e3 }

func kilobytes(octets int64) float64 { return float64(octets) / 1e3 }

const serverProcess = "processor time of the server's processes (all their threads, and the processes they started)"

func crowdMetrics() []Metric {
	return []Metric{
		ofCrowd(study.Metric{
			Name: "took", Unit: "ms", Title: "loading",
			Definition: "Wall-clock time that the clients, already connected, took to load the page the required number of times. It depends on the clients' processor time and on the machine, and helps to follow a run.",
		}, func(c *evidence.Crowd) (float64, bool) { return milliseconds(int64(c.Load.Took)), c.Load.Pages > 0 }),
		ofCrowd(study.Metric{
			Name: "server_cpu_page", Unit: "us", Title: "CPU/page",
			Definition: "Processor time per page: " + serverProcess + " while the clients, already connected, loaded the page, divided by the pages loaded. " +
				"On the loopback device Linux handles a segment's arrival in the sender's time, so part of the receiver's work is charged to the sender.",
		}, func(c *evidence.Crowd) (float64, bool) {
			return per(microseconds(c.Load.User+c.Load.Kernel), c.Load.Pages)
		}),
		ofCrowd(study.Metric{
			Name: "server_user_page", Unit: "us", Title: "user/page",
			Definition: "The part of server_cpu_page in user mode. The kernel divides the sum by sampling.",
		}, func(c *evidence.Crowd) (float64, bool) { return per(microseconds(c.Load.User), c.Load.Pages) }),
		ofCrowd(study.Metric{
			Name: "server_kernel_page", Unit: "us", Title: "kernel/page",
			Definition: "The part of server_cpu_page in the kernel.",
		}, func(c *evidence.Crowd) (float64, bool) { return per(microseconds(c.Load.Kernel), c.Load.Pages) }),
		ofCrowd(study.Metric{
			Name: "server_cpu_mb", Unit: "us", Title: "CPU/MB",
			Definition: "Like server_cpu_page, but per 1,000,000 octets of content.",
		}, func(c *evidence.Crowd) (float64, bool) {
			return 1e6 * microseconds(c.Load.User+c.Load.Kernel) / float64(c.Load.Octets), c.Load.Octets > 0
		}),
		ofCrowd(study.Metric{
			Name: "server_cpu_client", Unit: "us", Title: "CPU/client",
			Definition: "Processor time for a client that connects: " + serverProcess + " while all clients opened all their connections, each with its handshake and a HEAD request, divided by the number of clients.",
		}, func(c *evidence.Crowd) (float64, bool) {
			return per(microseconds(c.Connect.User+c.Connect.Kernel), c.Clients)
		}),
		ofCrowd(study.Metric{
			Name: "server_cpu_idle", Unit: "us", Title: "CPU/s idle",
			Definition: "Processor time of the server's processes per second while all clients were connected and nothing was under way (activity idle).",
		}, func(c *evidence.Crowd) (float64, bool) {
			if c.Rest == nil || c.Rest.Took <= 0 {
				return 0, false
			}
			return microseconds(c.Rest.User+c.Rest.Kernel) / c.Rest.Took.Seconds(), true
		}),
		ofCrowd(study.Metric{
			Name: "server_memory", Unit: "kB", Title: "memory",
			Definition: "Memory of the server's processes with all clients connected, after these have loaded their pages: the proportional set size (PSS). " +
				"Kernel memory for connections is not included.",
		}, func(c *evidence.Crowd) (float64, bool) { return kilobytes(c.Server.Resident), c.Server.Resident > 0 }),
		ofCrowd(study.Metric{
			Name: "server_memory_peak", Unit: "kB", Title: "peak memory",
			Definition: "Peak resident set size of each of the server's processes since its start, added up (VmHWM). Kernel memory for connections is not included.",
		}, func(c *evidence.Crowd) (float64, bool) { return kilobytes(c.Server.Peak), c.Server.Peak > 0 }),
		ofCrowd(study.Metric{
			Name: "server_memory_client", Unit: "kB", Title: "memory/client",
			Definition: "Growth of server_memory since before the first client (but after a single client that had come and left), divided by the number of clients. " +
				"With few clients, the large blocks in which programs allocate memory decide the figure.",
		}, func(c *evidence.Crowd) (float64, bool) {
			return per(kilobytes(c.Server.Resident-c.Base.Resident), c.Clients)
		}),
		ofCrowd(study.Metric{
			Name: "client_memory_client", Unit: "kB", Title: "memory/client there",
			Definition: "Like server_memory_client, but for the process that runs the clients (package loader/many), which are not browsers.",
		}, func(c *evidence.Crowd) (float64, bool) {
			return per(kilobytes(c.Client.Resident-c.ClientBase.Resident), c.Clients)
		}),
		ofCrowd(study.Metric{
			Name: "connections", Unit: "connections", Title: "connections",
			Definition: "Connections that the clients had open to the server at once.",
		}, func(c *evidence.Crowd) (float64, bool) { return float64(c.Connect.Connections), true }),
		ofCrowd(study.Metric{
			Name: "connections_client", Unit: "connections", Title: "connections/client",
			Definition: "Connections that were open at once (connections), divided by the number of clients.",
		}, func(c *evidence.Crowd) (float64, bool) { return per(float64(c.Connect.Connections), c.Clients) }),
		ofCrowd(study.Metric{
			Name: "handshakes", Unit: "handshakes", Title: "handshakes",
			Definition: "Cryptographic handshakes that clients and server completed, all of them full and one for each connection; 0 in the clear.",
		}, func(c *evidence.Crowd) (float64, bool) { return float64(c.Connect.Handshakes), true }),
		ofCrowd(study.Metric{
			Name: "server_calls_page", Unit: "calls", Title: "calls/page",
			Definition: "System calls of the server's processes per page (activity active), counted over 50 pages or more that up to 50 of the clients loaded after the other measurements, with the server stopped at each call. " +
				"Servers that read several requests with one call make fewer calls when they are fast.",
		}, func(c *evidence.Crowd) (float64, bool) {
			if c.Counted == nil {
				return 0, false
			}
			return per(float64(c.Counted.SystemCalls), c.Counted.Pages)
		}),
		ofCrowd(study.Metric{
			Name: "server_calls_mb", Unit: "calls", Title: "calls/MB",
			Definition: "Like server_calls_page, but per 1,000,000 octets of content.",
		}, func(c *evidence.Crowd) (float64, bool) {
			if c.Counted == nil || c.Counted.Octets == 0 {
				return 0, false
			}
			return 1e6 * float64(c.Counted.SystemCalls) / float64(c.Counted.Octets), true
		}),
		ofCrowd(study.Metric{
			Name: "client_cpu_page", Unit: "us", Title: "CPU/page there",
			Definition: "Like server_cpu_page, but for the process that runs the clients.",
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

// checkCrowdTLS is rule 1 for crowds: except over http/1.1 every connection had a handshake, and all handshakes agreed on
// TLS 1.3 with the same group and key type, so that servers do not differ in these. The clients themselves refuse another
// protocol. The server chooses the cipher suite; docs/servers.md says which servers choose another one.
func checkCrowdTLS(ev *evidence.Evidence) []study.Violation {
	c := ev.Crowd
	if c == nil || ev.Protocol == "http/1.1" {
		return nil
	}
	var list []study.Violation
	if len(c.TLS) > 1 {
		list = append(list, violation(1, "handshakes agreed on different terms: %s", strings.Join(c.TLS, "; ")))
	}
	const version, rest = "TLS 1.3, ", ", X25519, ECDSA P-256"
	for _, terms := range c.TLS {
		if !strings.HasPrefix(terms, version) || !strings.HasSuffix(terms, rest) {
			list = append(list, violation(1, "handshakes agreed on %s, want %sa cipher suite%s", terms, version, rest))
		}
	}
	if want := c.Connect.Connections; c.Connect.Handshakes != want {
		list = append(list, violation(1, "%d connections made %d handshakes", want, c.Connect.Handshakes))
	}
	return list
}

// checkCrowdAgreement is rule 4 for crowds: the clients opened as many connections as planned, the server's kernel held as
// many, and all content arrived.
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
		differ("connections that the server's kernel held", c.Held, c.Connect.Connections)
	}
	differ("connections opened while pages were loaded", c.Load.Connections, 0)
	differ("octets of content", c.Load.Octets, c.Asked*int64(c.Load.Pages))
	if c.Load.Pages < c.Clients {
		list = append(list, violation(4, "%d clients loaded only %s", c.Clients, english.Count(c.Load.Pages, "page")))
	}
	return list
}
