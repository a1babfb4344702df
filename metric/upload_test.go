package metric

import (
	"net/http"
	"strings"
	"testing"

	"wiretime/capture"
	"wiretime/evidence"
)

// uploadScene is a POST of 2500 octets over TCP: a handshake, 100 octets of TLS's hello and its answer, two flights of
// content, of which the last segment is sent again, and an answer. The client asks at 0 ms and has the answer at 600 ms.
func uploadScene() *scene {
	s := &scene{}
	s.up(100, fromClient(0, 0, capture.SYN, 0))
	s.down(200, fromServer(0, 1, capture.SYN|capture.ACK, 0))
	s.up(200.1, fromClient(1, 1, capture.ACK, 100)) // the first round
	s.down(300, fromServer(1, 101, capture.ACK, 100))
	s.up(300.1, fromClient(101, 101, capture.ACK, 1000)) // the second
	s.up(300.2, fromClient(1101, 101, capture.ACK, 1000))
	s.down(400, fromServer(101, 1101, capture.ACK, 0))
	s.up(400.1, fromClient(2101, 101, capture.ACK, 500)) // the third
	s.up(450, fromClient(2101, 101, capture.ACK, 500))
	s.down(500, fromServer(101, 2601, capture.ACK, 0))
	s.down(600, fromServer(101, 2601, capture.ACK, 100))
	s.fetch(0, 600, "https://www.upload.test/", "h2")
	s.entries[0].Request.Method, s.log[0].Method = http.MethodPost, http.MethodPost
	s.entries[0].Timings = capture.Timings{Blocked: 250, DNS: -1, Connect: -1, SSL: -1, Send: 0, Wait: 345, Receive: 5}
	s.log[0].BodyBytes = 65
	s.log[0].Received = &capture.Received{Octets: 2500, First: ns(350), Last: ns(500), SHA256: "right"}
	return s
}

func loadUpload(t *testing.T, s *scene, protocol string) *evidence.Evidence {
	t.Helper()
	ev := s.load(t, protocol)
	ev.Upload = &evidence.Upload{Octets: 2500, SHA256: "right"}
	return ev
}

func TestUploads(t *testing.T) {
	ev := loadUpload(t, uploadScene(), "h2")
	values := Uploads().Values(ev)
	for name, want := range map[string]float64{
		"upload_time": 600, "answered": 595, "first_octet": 350, "intake": 150, "goodput": 2500 * 8 / 600e3,
		"rounds": 3, "retransmissions": 1, "connections": 1, "drops": 0,
	} {
		if got, ok := values[name]; !ok || got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%s is %v (%t), want %v", name, got, ok, want)
		}
	}
	if list := Uploads().Violations(ev); len(list) > 0 {
		t.Errorf("violations: %v", list)
	}
}

// TestFailedUploadsHaveNoTimes: an upload without an answer has no times, and one of which the sink read nothing has no
// first octet.
func TestFailedUploadsHaveNoTimes(t *testing.T) {
	s := uploadScene()
	s.entries[0].Response = capture.Response{Error: "reset"}
	s.log[0].Received = &capture.Received{}
	values := Uploads().Values(loadUpload(t, s, "h2"))
	for _, name := range []string{"upload_time", "answered", "first_octet", "intake", "goodput"} {
		if v, ok := values[name]; ok {
			t.Errorf("%s is %v", name, v)
		}
	}
}

func TestCheckUpload(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*scene)
		want   string
	}{
		"an octet short":   {func(s *scene) { s.log[0].Received.Octets-- }, "the sink received 2499 octets, but the client had to upload 2500"},
		"another content":  {func(s *scene) { s.log[0].Received.SHA256 = "wrong" }, "but not the client's"},
		"no intake":        {func(s *scene) { s.log[0].Received = nil }, "does not say what the sink received"},
		"no upload":        {func(s *scene) { s.log[0].Method, s.entries[0].Request.Method = "GET", "GET" }, "0 uploads instead of one"},
		"two uploads":      {func(s *scene) { s.log, s.entries = append(s.log, s.log[0]), append(s.entries, s.entries[0]) }, "2 uploads instead of one"},
		"too few on wires": {func(s *scene) { s.records = s.records[:12] }, "but its packets carried only"},
	} {
		s := uploadScene()
		test.change(s)
		var found []string
		for _, v := range checkUpload(loadUpload(t, s, "h2")) {
			found = append(found, v.Detail)
		}
		if len(found) != 1 || !strings.Contains(found[0], test.want) {
			t.Errorf("%s: violations %q, want %q", name, found, test.want)
		}
	}
}
