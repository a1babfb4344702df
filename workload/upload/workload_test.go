package upload

import (
	"maps"
	"strings"
	"testing"
	"time"

	"wiretime/network"
	"wiretime/protocol"
	"wiretime/study"
	"wiretime/workload"
	"wiretime/workload/pageload"
)

func TestReferences(t *testing.T) {
	for reference, want := range map[string]int64{"post@1B": 1, "post@64kB": 64_000, "post@40MB": 40_000_000, "post@40000kB": 40_000_000} {
		if got, err := ParseReference(reference); err != nil || got != want {
			t.Errorf("%s is %d octets, error %v; want %d", reference, got, err, want)
		}
	}
	for reference, want := range map[string]string{
		"":                          "unknown upload",
		"file@1MB":                  "unknown upload",
		"post@":                     "is not a size",
		"post@MB":                   "is not a size",
		"post@-1MB":                 "is not a size",
		"post@1.5MB":                "unknown unit",
		"post@10":                   "unknown unit",
		"post@10GB":                 "unknown unit",
		"post@0B":                   "out of range: want post@SIZE with 1 B to 40 MB",
		"post@41MB":                 "out of range",
		"post@40000001B":            "out of range",
		"post@9223372036854775807B": "out of range",
		"post@99999999999999999999": "is not a size",
	} {
		if _, err := ParseReference(reference); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", reference, err, want)
		}
	}
}

// cell returns the cell of an upload of 10 MB over a path of 8 Mbit/s.
func cell(values map[study.Axis]string) study.Cell {
	all := map[study.Axis]string{
		study.AxisUpload: "post@10MB", study.AxisProtocol: "h2", study.AxisLoader: pageload.Fetch, study.AxisClock: study.ClockVirtual,
	}
	maps.Copy(all, values)
	link := network.Link{Rate: 8_000_000, Delay: 10 * time.Millisecond}
	return study.NewCell(study.Uploads(), all, network.Path{Name: "mine", Access: []network.Access{{Name: "access", Up: link, Down: link}}})
}

// TestBind checks the order, which extends the page's, and which cells are unsupported.
func TestBind(t *testing.T) {
	options := study.Options{Timeout: time.Minute}
	c := cell(map[study.Axis]string{study.AxisInitCwnd: "32"})
	j, err := Workload{}.Bind(c, 7, workload.Setting{Options: options})
	if err != nil {
		t.Fatal(err)
	}
	o := j.Order("r1-0001-a1").(*Order)
	if o.Octets != 10_000_000 || o.Page.Loader != pageload.Fetch || o.Page.Protocol != "h2" || o.Page.TCP.InitCwnd != 32 || o.Page.Seed != 7 || o.Page.Timeout != time.Minute {
		t.Errorf("the order is %+v", o)
	}
	if want := "upload=post@10MB"; !strings.Contains(o.Page.Comment, want) {
		t.Errorf("the capture's comment is %q, want %s in it", o.Page.Comment, want)
	}
	if j.Unsupported != "" || j.Site == nil || j.Capture < 20_000_000 || j.Headline != "upload_time" {
		t.Errorf("the job is %+v", j)
	}
	for _, test := range []struct {
		values map[study.Axis]string
		want   string
	}{
		{map[study.Axis]string{study.AxisLoader: pageload.Chromium}, ""},
		{map[study.Axis]string{study.AxisLoader: pageload.Chromium, study.AxisProtocol: "spdy/3"}, "Chromium dropped SPDY"},
		{map[study.Axis]string{study.AxisLoader: pageload.Builtin}, "cannot post; use fetch"},
		{map[study.Axis]string{study.AxisLoader: pageload.Firefox}, ""},
		{map[study.Axis]string{study.AxisServer: "nginx"}, "the server nginx serves files and accepts no uploads"},
	} {
		j, err := Workload{}.Bind(cell(test.values), 1, workload.Setting{Options: options})
		if err != nil || !strings.Contains(j.Unsupported, test.want) || test.want == "" && j.Unsupported != "" {
			t.Errorf("%v: unsupported because %q, error %v; want %q", test.values, j.Unsupported, err, test.want)
		}
	}
}

// TestCosts checks that an upload takes as long as its link on the real clock, and as long as its work on the virtual one.
func TestCosts(t *testing.T) {
	c := cell(nil)
	onReal, onVirtual := Workload{}.Costs(c, study.ClockReal, nil, study.Options{}), Workload{}.Costs(c, study.ClockVirtual, nil, study.Options{})
	if want := len(protocol.All()); len(onReal) != want || len(onVirtual) != want {
		t.Fatalf("%d and %d estimates, want %d each, one for each protocol", len(onReal), len(onVirtual), want)
	}
	for i, p := range protocol.All() {
		if e := onReal[i]; e.Duration < 10*time.Second || e.Processor > 5*time.Second {
			t.Errorf("%s on the real clock: an upload of 10 s is estimated at %v and %v of processor time", p.Name, e.Duration, e.Processor)
		}
		if e := onVirtual[i]; e.Duration > 5*time.Second {
			t.Errorf("%s on the virtual clock: an upload is estimated at %v", p.Name, e.Duration)
		}
	}
	if all := (Workload{}).Costs(c.With(study.AxisUpload, "post@0B"), study.ClockReal, nil, study.Options{}); all != nil {
		t.Errorf("an invalid upload has estimates: %v", all)
	}
}
