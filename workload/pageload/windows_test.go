package pageload

import (
	"slices"
	"strings"
	"testing"

	"wiretime/evidence"
	"wiretime/server"
	"wiretime/study"
	"wiretime/workload"
)

func TestRefusedWindows(t *testing.T) {
	for _, test := range []struct {
		axis                             study.Axis
		window, protocol, loader, server string
		want                             string // part of the reason; empty: the cell can have the window
	}{
		{study.AxisTCPWindow, "64KiB", "h2", Chromium, "nginx", ""},
		{study.AxisTCPWindow, "64KiB", "h3", Builtin, server.Own, "h3 runs over UDP"},
		{study.AxisClientWindow, "64KiB", "h2", Builtin, "nginx", ""},
		{study.AxisClientWindow, "64KiB", "h2", Chromium, server.Own, "the loader chromium has windows of its own"},
		{study.AxisClientWindow, "64KiB", "https/1.1", Builtin, server.Own, "no flow control"},
		{study.AxisServerWindow, "64KiB", "h2", Builtin, server.Own, ""},
		{study.AxisServerWindow, "64KiB", "h2", Builtin, "nginx", "the server nginx has windows of its own"},
		{study.AxisServerWindow, "64KiB", "h3", Chromium, server.Own, ""},
		{study.AxisServerWindow, "64KiB", "h2", Firefox, server.Own, "the loader firefox does not report the windows that a server announces over h2"},
		{study.AxisServerWindow, "mod_spdy", "h2", Builtin, server.Own, "mod_spdy"},
	} {
		c := study.NewCell(study.Pages(), map[study.Axis]string{
			study.AxisProtocol: test.protocol, study.AxisLoader: test.loader, study.AxisServer: test.server,
		}, study.Cell{}.Network)
		err := RefuseWindow(test.axis, test.window, c)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %s of %s over %s from %s: %v, want %q", test.axis, test.window, test.loader, test.protocol, test.server, err, test.want)
		}
	}
}

func TestWindowName(t *testing.T) {
	for _, test := range []struct {
		axis             study.Axis
		word, name, want string // want is part of the error
	}{
		{study.AxisTCPWindow, "65536", "64KiB", ""},
		{study.AxisTCPWindow, "4607", "", `invalid size "4607": want 4608 octets to 1 GiB`},
		{study.AxisTCPWindow, "much", "", `invalid size "much": want 4608 octets to 1 GiB, such as 64KiB`},
		{study.AxisTCPWindow, "2GiB", "", `invalid size "2GiB": want 4608 octets to 1 GiB`},
		{study.AxisClientWindow, "1024KiB", "1MiB", ""},
		{study.AxisServerWindow, "mod_spdy", "mod_spdy", ""},
		{study.AxisServerWindow, "0", "", "0"},
	} {
		name, err := WindowName(test.axis, test.word)
		if test.want == "" && (err != nil || name != test.name) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s %s is %q, error %v; want %q, %q", test.axis, test.word, name, err, test.name, test.want)
		}
	}
}

// TestTCPWindowNeedsNewConnections: the capture of a visit shows the windows of connections that it opens.
func TestTCPWindowNeedsNewConnections(t *testing.T) {
	for visit, supported := range map[string]bool{
		study.VisitCold: true, study.VisitResumed: true, study.VisitCached: true,
		study.VisitConnected: false, study.VisitAgain: false, study.VisitReload: false,
	} {
		why := bind(t, workload.Setting{}, flags(t), map[study.Axis]string{
			study.AxisProtocol: "h2", study.AxisLoader: Builtin, study.AxisVisit: visit, study.AxisTCPWindow: "64KiB",
		}).Unsupported
		if (why == "") != supported || !supported && !strings.Contains(why, "tcp_window with visit "+visit) {
			t.Errorf("visit %s: %q", visit, why)
		}
	}
}

// TestAnnouncedOverSPDY reads two frame logs of one loader, of which the second begins when the first connection is open.
func TestAnnouncedOverSPDY(t *testing.T) {
	const head = "\x1e" + `{"title":"SPDY frames"}` + "\n"
	record := func(name, session, frame string) string {
		return "\x1e" + `{"time":1,"name":"spdy:` + name + `","data":{"session":` + session + `,"frame":` + frame + "}}\n"
	}
	var a evidence.Announced
	for _, log := range []string{
		head + record("frame_sent", "1", `{"frame_type":"settings","settings":{"4":100,"7":1000}}`) + record("frame_received", "1", `{"frame_type":"settings","settings":{"7":2000}}`),
		head + record("frame_sent", "1", `{"frame_type":"syn_stream"}`) + record("frame_sent", "2", `{"frame_type":"settings","settings":{"7":3000}}`),
	} {
		if err := readAnnounced([]byte(log), &a); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(a.Client, []int{1000, 3000}) || !slices.Equal(a.Server, []int{2000, draftWindow}) {
		t.Errorf("announced %+v", a)
	}
	if err := readAnnounced([]byte(head+"\x1e{\"data\":"), &a); err == nil || !strings.Contains(err.Error(), "read the frame log") {
		t.Errorf("a log that is cut off: error %v", err)
	}
}
