package metric

import (
	"slices"
	"strings"
	"testing"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/study"
)

func TestCheckFindsNothingInASoundLoad(t *testing.T) {
	for protocol, s := range map[string]*scene{"h2": h2Scene(), "h3": h3Scene()} {
		if got := Pages().Violations(s.load(t, protocol)); len(got) != 0 {
			t.Errorf("%s: %v", protocol, got)
		}
	}
}

func TestCheckHTTP1(t *testing.T) {
	for _, c := range []struct {
		row, url, tls string
		sound         bool
	}{
		{"http/1.1", "http://www.example.test/", "", true},
		{"https/1.1", "https://www.example.test/", "TLS 1.3", true},
		{"http/1.1", "https://www.example.test/", "TLS 1.3", false},
		{"https/1.1", "http://www.example.test/", "", false},
	} {
		s := h2Scene()
		s.entries[0].Protocol, s.entries[0].Request.URL = "http/1.1", c.url
		s.log[0].Protocol, s.log[0].URL, s.log[0].TLS = "http/1.1", c.url, c.tls
		if got := Pages().Violations(s.load(t, c.row)); (len(got) == 0) != c.sound {
			t.Errorf("row %s, %s: %v", c.row, c.url, got)
		}
	}
}

// TestCheckTLS looks at loads over a version of TLS that was asked for, over another, and at such as may have any.
func TestCheckTLS(t *testing.T) {
	for _, c := range []struct {
		asked, was string
		sound      bool
	}{
		{"TLS 1.3", "TLS 1.3", true}, {"TLS 1.2", "TLS 1.2", true}, {"TLS 1.2", "TLS 1.3", false}, {"TLS 1.3", "TLS 1.2", false}, {"", "TLS 1.2", true},
	} {
		s := h2Scene()
		s.log[0].TLS = c.was
		ev := s.load(t, "h2")
		ev.TLS = c.asked
		if got := Pages().Violations(ev); (len(got) == 0) != c.sound || len(got) > 0 && got[0].Rule != 1 {
			t.Errorf("%q was asked for, %s used: %v", c.asked, c.was, got)
		}
	}
}

// TestCheckSPDY looks at loads over SPDY, and at such that were to be.
func TestCheckSPDY(t *testing.T) {
	for _, c := range []struct {
		name   string
		row    string // that was asked for
		change func(s *scene)
		rule   int // that is broken; 0: none
	}{
		{"version 2", "spdy/2", func(s *scene) { s.entries[0].Protocol, s.log[0].Protocol = "spdy/2", "spdy/2" }, 0},
		{"version 3", "spdy/3", func(s *scene) { s.entries[0].Protocol, s.log[0].Protocol = "spdy/3", "spdy/3" }, 0},
		{"version 3.1", "spdy/3.1", func(*scene) {}, 0},
		{"by its version in the response alone", "spdy/3.1", func(s *scene) {
			s.entries[0].Protocol, s.entries[0].Response.HTTPVersion = "", "SPDY/3.1"
		}, 0},
		{"another version by the loader's report", "spdy/3.1", func(s *scene) { s.entries[0].Protocol = "spdy/3" }, 1},
		{"another version by the server's", "spdy/3.1", func(s *scene) { s.log[0].Protocol = "spdy/3" }, 1},
		{"HTTP/2", "spdy/3.1", func(s *scene) { s.entries[0].Protocol, s.log[0].Protocol = "h2", "h2" }, 1},
		{"HTTP/1.1", "spdy/3.1", func(s *scene) { s.log[0].Protocol = "http/1.1" }, 1},
		{"in the clear", "spdy/3.1", func(s *scene) { s.log[0].TLS = "" }, 1},
		{"in place of HTTP/2", "h2", func(*scene) {}, 1},
		{"a resumed TLS session", "spdy/3.1", func(s *scene) { s.log[0].Resumed = true }, 2},
		{"a connection from before the capture", "spdy/3.1", func(s *scene) { s.records = s.records[8:] }, 2},
		{"a connection that the wire does not show", "spdy/3.1", func(s *scene) { s.log[0].Client = "10.0.0.2:4999" }, 4},
		{"a resource that the server did not serve", "spdy/3.1", func(s *scene) {
			s.fetch(0, 1, "https://www.example.test/b", "spdy/3.1")
			s.log = s.log[:1]
		}, 4},
	} {
		s := h2Scene()
		s.entries[0].Protocol, s.log[0].Protocol = "spdy/3.1", "spdy/3.1"
		c.change(s)
		got := Pages().Violations(s.load(t, c.row))
		if (len(got) == 0) != (c.rule == 0) {
			t.Errorf("%s: %v", c.name, got)
		}
		for _, v := range got {
			if v.Rule != c.rule {
				t.Errorf("%s: %v, want rule %d", c.name, v, c.rule)
			}
		}
	}
}

func TestCheckFinds(t *testing.T) {
	const page = "https://www.example.test/"
	for _, c := range []struct {
		name   string
		change func(s *scene)
		want   []study.Violation
	}{
		{"another protocol by the browser's report", func(s *scene) { s.entries[0].Protocol = "http/1.1" }, []study.Violation{
			{Rule: 1, Detail: "the browser reports 1 request as http/1.1 over TLS, not as h2 over TLS: GET " + page}}},
		{"another protocol by the server's", func(s *scene) { s.log[0].Protocol = "http/1.1" }, []study.Violation{
			{Rule: 1, Detail: "the server log shows 1 request as http/1.1 over TLS, not as h2 over TLS: GET " + page}}},
		{"a protocol the HAR names in the response only", func(s *scene) {
			s.entries[0].Protocol, s.entries[0].Response.HTTPVersion = "", "H3"
		}, []study.Violation{{Rule: 1, Detail: "the browser reports 1 request as h3 over TLS, not as h2 over TLS: GET " + page}}},
		{"a resource from a warm cache", func(s *scene) {
			s.fetch(412, 413, page+"a.png", "h2")
			s.entries[1].FromCache, s.log = "disk", s.log[:1]
		}, []study.Violation{{Rule: 2, Detail: "the browser had 1 resource in a cache before the load: " + page + "a.png"}}},
		{"an image that the page names twice is no warmth", func(s *scene) {
			s.fetch(412, 413, page+"a.png", "h2")
			s.fetch(412, 413, page+"a.png", "h2")
			s.entries[2].FromCache, s.log = "memory", s.log[:2]
		}, nil},
		{"a resumed TLS session", func(s *scene) { s.log[0].Resumed = true }, []study.Violation{
			{Rule: 2, Detail: "1 connection resumed an earlier TLS session: 10.0.0.2:4000 > 10.0.1.2:443"}}},
		{"a connection from before the capture", func(s *scene) { s.records = s.records[8:] }, []study.Violation{
			{Rule: 2, Detail: "1 connection carried requests without a handshake in the capture: tcp 10.0.0.2:4000 > 10.0.1.2:443"},
			{Rule: 2, Detail: "the browser used 1 connection to 10.0.1.2, but the capture holds the handshakes of 0"}}},
		{"a connection that the wire does not show", func(s *scene) { s.log[0].Client = "10.0.0.2:4999" }, []study.Violation{
			{Rule: 4, Detail: "the server answered on 1 connection that the packets do not show: tcp 10.0.0.2:4999 > 10.0.1.2:443"}}},
		{"a fetch that the server did not see", func(s *scene) {
			s.log = append(s.log[:0], h2Scene().log[0])
			s.fetch(0, 1, page+"b", "h2")
			s.log = s.log[:1]
		}, []study.Violation{
			{Rule: 4, Detail: "the browser reports 1 request that the server did not answer: GET " + page + "b"}}},
		{"a fetch that the browser does not report", func(s *scene) { s.fetch(0, 1, page, "h2"); s.entries = s.entries[:1] }, []study.Violation{
			{Rule: 4, Detail: "the server answered 1 request that the browser does not report: GET " + page}}},
		{"the browser's own look for an icon is none", func(s *scene) {
			s.fetch(0, 1, page+"favicon.ico", "h2")
			s.entries, s.log[1].Miss = s.entries[:1], true
		}, nil},
		{"a miss that both saw is none", func(s *scene) {
			s.fetch(0, 1, page+"absent.png", "h2")
			s.entries[1].Response.Status, s.log[1].Status, s.log[1].Miss = 404, 404, true
		}, nil},
		{"a fetch that failed", func(s *scene) {
			s.fetch(0, 1, page+"b", "")
			s.entries[1].Response = capture.Response{Error: "net::ERR_CONNECTION_RESET"}
			s.log = s.log[:1]
		}, []study.Violation{{Rule: 4, Detail: "the browser did not get 1 resource: GET " + page + "b (net::ERR_CONNECTION_RESET)"}}},
		{"more served than arrived", func(s *scene) { s.log[0].BodyBytes = 3031 }, []study.Violation{
			{Rule: 4, Detail: "the server log adds up to 3031 octets of bodies, but only 3030 octets reached the client"}}},
		{"a server log without addresses", func(s *scene) { s.log[0].Client = "" }, []study.Violation{
			{Rule: 4, Detail: `the server log names the client "": not an ip:port`}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := h2Scene()
			c.change(s)
			got := Pages().Violations(s.load(t, "h2"))
			if len(got) != len(c.want) {
				t.Fatalf("got %v, want %v", got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("got  %v\nwant %v", got[i], c.want[i])
				}
			}
		})
	}
}

// TestCheckStateOfTheClient looks at loads of each visit, and at such that were
// to be.
func TestCheckStateOfTheClient(t *testing.T) {
	const page = "https://www.example.test/"
	const origin = "1 origin, visited before, answered "
	cached := func(s *scene) {
		s.fetch(412, 413, page+"a.png", "h2")
		s.entries[1].FromCache, s.log = "disk", s.log[:1]
	}
	resume := func(s *scene) { s.log[0].Resumed = true }
	open := func(s *scene) { s.records = s.records[2*5:] }
	inTheClear := func(s *scene) {
		s.entries[0].Protocol, s.entries[0].Request.URL = "http/1.1", "http://www.example.test/"
		s.log[0].Protocol, s.log[0].URL, s.log[0].TLS = "http/1.1", "http://www.example.test/", ""
	}
	early := func(s *scene) { s.log[0].EarlyData = true }
	// second adds a request on a connection of its own, opened in the capture.
	second := func(s *scene) {
		s.up(100.5, segment("10.0.0.2:4001", server, 1, 0, capture.SYN, 0))
		s.down(200.5, segment(server, "10.0.0.2:4001", 1, 2, capture.SYN|capture.ACK, 0))
		s.down(300, segment(server, "10.0.0.2:4001", 2, 2, capture.ACK, 1000))
		s.fetch(301, 302, page+"b.png", "h2")
		s.log[1].Client, s.entries[1].Connection = "10.0.0.2:4001", "8"
	}
	for _, c := range []struct {
		name, row, visit string
		change           []func(s *scene)
		want             string // of rule 2; empty: it is sound
	}{
		{"resumed", "h2", "resumed", []func(*scene){resume}, ""},
		{"not resumed", "h2", "resumed", nil, origin + "without a resumed TLS session on any connection: www.example.test"},
		{"early data without leave", "h2", "resumed", []func(*scene){resume, early}, "1 request came as early data: GET " + page},
		{"early data on a first visit", "h2", "cold", []func(*scene){early}, "1 request came as early data: GET " + page},
		{"early data from a cache's owner", "h2", "cached", []func(*scene){resume, cached, early}, "1 request came as early data: GET " + page},
		{"early data on an open connection", "h2", "connected", []func(*scene){open, early}, "1 request came as early data: GET " + page},
		{"one of two connections resumed", "h2", "resumed", []func(*scene){resume, second}, ""},
		{"without TLS there is nothing to resume", "http/1.1", "resumed", []func(*scene){inTheClear}, ""},
		{"resumed with a cache", "h2", "resumed", []func(*scene){resume, cached}, "the browser had 1 resource in a cache before the load: " + page + "a.png"},
		{"resumed on an open connection", "h2", "resumed", []func(*scene){resume, open}, "1 connection carried requests without a handshake in the capture: tcp 10.0.0.2:4000 > 10.0.1.2:443"},
		{"cached", "h2", "cached", []func(*scene){resume, cached}, ""},
		{"cached, but not resumed", "h2", "cached", []func(*scene){cached}, origin + "without a resumed TLS session on any connection: www.example.test"},
		{"connected", "h2", "connected", []func(*scene){open}, ""},
		{"connected, and once more", "h2", "connected", []func(*scene){open, second}, ""},
		{"connected anew", "h2", "connected", nil, origin + "on new connections alone, as if none had been open: www.example.test"},
		{"connected with a cache", "h2", "connected", []func(*scene){open, cached}, "the browser had 1 resource in a cache before the load: " + page + "a.png"},
		{"in the clear, connected anew", "http/1.1", "connected", []func(*scene){inTheClear}, origin + "on new connections alone, as if none had been open: www.example.test"},
		{"cold by name", "h2", "cold", []func(*scene){resume}, "1 connection resumed an earlier TLS session: 10.0.0.2:4000 > 10.0.1.2:443"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := h2Scene()
			for _, change := range c.change {
				change(s)
			}
			l := s.load(t, c.row)
			l.Visit = c.visit
			expectState(t, Pages().Violations(l), c.want)
		})
	}
}

// expectState expects a violation of rule 2, or no violation at all if want is empty.
func expectState(t *testing.T, got []study.Violation, want string) {
	t.Helper()
	if want == "" && len(got) > 0 {
		t.Error(got)
	}
	if want != "" && !slices.Contains(got, study.Violation{Rule: 2, Detail: want}) {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestCheckEarlyData looks at visits that were to be with early data.
func TestCheckEarlyData(t *testing.T) {
	const origin = "1 origin, visited before, answered "
	resume := func(s *scene) { s.log[0].Resumed = true }
	early := func(s *scene) { s.log[0].EarlyData = true }
	// later adds a request after the handshake.
	later := func(s *scene) { s.fetch(412, 413, "https://www.example.test/a.png", "h3") }
	lost := func(answered bool) func(s *scene) {
		return func(s *scene) {
			data := datagram(client, server, long, 100)
			packet := capture.PacketRecord{Interface: 0, Time: s.records[0].Time + 1, ID: 1000, Comment: capture.DroppedPrefix + "loss", Length: len(data), Data: data}
			at := 1
			if answered {
				at = len(s.records)
			}
			s.records = slices.Insert(s.records, at, packet)
		}
	}
	for _, c := range []struct {
		name   string
		change []func(*scene)
		want   string // of rule 2; empty: it is sound
	}{
		{"early", []func(*scene){resume, early}, ""},
		{"the first request early, as those after it cannot be", []func(*scene){resume, early, later}, ""},
		{"not early", []func(*scene){resume}, origin + "without early data: www.example.test"},
		{"not even resumed", nil, origin + "without a resumed TLS session on any connection: www.example.test"},
		{"lost on its way", []func(*scene){resume, lost(false)}, ""},
		{"something lost later", []func(*scene){resume, lost(true)}, origin + "without early data: www.example.test"},
		{"over the fallback", []func(*scene){resume, func(s *scene) { s.log[0].Protocol = "h2" }}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := h3Scene()
			for _, change := range c.change {
				change(s)
			}
			l := s.load(t, "h3")
			l.Visit = "0rtt"
			expectState(t, checkVisit(l), c.want)
		})
	}
}

// What the pages of a journey leave to each other is not from before it, and an
// earlier visit need not have been to the origins of its later pages.
func TestCheckStateOnAJourney(t *testing.T) {
	const elsewhere = "https://other.test/"
	for _, c := range []struct {
		name, visit string
		change      func(s *scene)
		want        string // of rule 2; empty: it is sound
	}{
		{"cached by its first page", "cold", func(s *scene) {
			s.fetch(1500, 1501, "https://www.example.test/", "h2")
			s.entries[3].Page, s.entries[3].FromCache, s.log = "page_2", "memory", s.log[:3]
		}, ""},
		{"resumed from its first page", "cold", func(s *scene) { s.log[1].Start, s.log[1].Resumed = ns(1500), true }, ""},
		{"resumed on its first page", "cold", func(s *scene) { s.log[0].Start, s.log[0].Resumed = ns(200), true },
			"1 connection resumed an earlier TLS session: 10.0.0.2:4000 > 10.0.1.2:443"},
		{"resumed at an origin it has not been to", "cold", func(s *scene) {
			s.entries[1].Request.URL, s.log[1].URL, s.log[1].Start, s.log[1].Resumed = elsewhere, elsewhere, ns(1500), true
		}, "1 connection resumed an earlier TLS session: 10.0.0.2:4000 > 10.0.1.2:443"},
		{"not resumed at a later page's origin", "resumed", func(s *scene) {
			s.log[0].Resumed, s.entries[1].Request.URL, s.log[1].URL = true, elsewhere, elsewhere
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := journey()
			c.change(s)
			l := s.load(t, "h2")
			l.Visit = c.visit
			expectState(t, Pages().Violations(l), c.want)
		})
	}
}

// TestCheckFallback looks at a load over HTTP/3 that had to use HTTP/2.
func TestCheckFallback(t *testing.T) {
	for _, c := range []struct {
		name, row, fallback string
		sound               bool
	}{
		{"as the study says", "h3", "h2", true},
		{"without leave", "h3", "", false},
		{"where HTTP/3 was not asked for", "spdy/3.1", "h2", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := h2Scene().load(t, c.row)
			l.Fallback = c.fallback
			if got := checkProtocol(l); (len(got) == 0) != c.sound {
				t.Error(got)
			}
		})
	}
}

func TestCheckNeedsAllParts(t *testing.T) {
	got := Pages().Violations(&evidence.Evidence{Protocol: "h2"})
	if len(got) != 3 || got[0] != (study.Violation{Rule: 4, Detail: "the load has no HAR to compare the rest with"}) {
		t.Errorf("got %v", got)
	}
}

// TestCheckWithoutAServerLog leaves out what needs the server's word.
func TestCheckWithoutAServerLog(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*scene)
		want   []study.Violation
	}{
		{"sound", func(*scene) {}, nil},
		{"another protocol by the browser's word", func(s *scene) { s.entries[0].Protocol = "http/1.1" }, []study.Violation{
			{Rule: 1, Detail: "the browser reports 1 request as http/1.1 over TLS, not as h2 over TLS: GET https://www.example.test/"}}},
		{"a fetch that failed", func(s *scene) { s.entries[0].Response = capture.Response{Error: "net::ERR_CONNECTION_RESET"} }, []study.Violation{
			{Rule: 4, Detail: "the browser did not get 1 resource: GET https://www.example.test/ (net::ERR_CONNECTION_RESET)"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := h2Scene()
			c.change(s)
			l := s.load(t, "h2")
			l.Server, l.NoServerLog = nil, true
			if got := Pages().Violations(l); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if v, ok := misses.Of(l); ok {
				t.Errorf("there are %v misses by nobody's word", v)
			}
		})
	}
}

func TestCheckSaysWhatAPersonCanRead(t *testing.T) {
	s := h2Scene()
	for _, name := range []string{"a", "b", "c", "d"} {
		s.fetch(0, 1, "https://www.example.test/"+name, "h3")
	}
	got := Pages().Violations(s.load(t, "h2"))
	if len(got) == 0 || !strings.HasSuffix(got[0].Detail, "/c and 1 more") {
		t.Errorf("got %v", got)
	}
}

// A QUIC connection that moves to another access link keeps its server.
func TestCheckMigration(t *testing.T) {
	s := h3Scene()
	s.up(302, datagram("10.0.9.2:4001", server, short, 30))
	s.down(303, datagram(server, "10.0.9.2:4001", short, 30))
	s.fetch(302, 303, "https://www.example.test/a.png", "h3")
	s.log[1].Client = "10.0.9.2:4001"
	if got := Pages().Violations(s.load(t, "h3")); len(got) != 0 {
		t.Error(got)
	}
}
