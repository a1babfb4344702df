package upload

import (
	"maps"
	"strings"
	"testing"
	"time"

	"wiretime/network"
	"wiretime/site"
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
		"post@":                     "is no size",
		"post@MB":                   "is no size",
		"post@-1MB":                 "is no size",
		"post@1.5MB":                "unknown unit",
		"post@10":                   "unknown unit",
		"post@10GB":                 "unknown unit",
		"post@0B":                   "out of range: want post@SIZE with 1 B to 40 MB",
		"post@41MB":                 "out of range",
		"post@40000001B":            "out of range",
		"post@9223372036854775807B": "out of range",
		"post@99999999999999999999": "is no size",
	} {
		if _, err := ParseReference(reference); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", reference, err, want)
		}
	}
}

// cell is an upload of 10 MB over a path of 8 Mbit/s.
func cell(values map[study.Axis]string) study.Cell {
	all := map[study.Axis]string{
		study.AxisUpload: "post@10MB", study.AxisProtocol: "h2", study.AxisLoader: pageload.Fetch, study.AxisClock: study.ClockVirtual,
	}
	maps.Copy(all, values)
	link := network.Link{Rate: 8_000_000, Delay: 10 * time.Millisecond}
	return study.NewCell(study.Uploads(), all, network.Path{Name: "mine", Access: []network.Access{{Name: "access", Up: link, Down: link}}})
}

// TestBind: the order is the page's with what the upload adds, and what can run is known before it does.
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
		{map[study.Axis]string{study.AxisServer: "nginx"}, "the server nginx serves files and takes no uploads"},
	} {
		j, err := Workload{}.Bind(cell(test.values), 1, workload.Setting{Options: options})
		if err != nil || !strings.Contains(j.Unsupported, test.want) || test.want == "" && j.Unsupported != "" {
			t.Errorf("%v is unsupported because %q, error %v; want %q", test.values, j.Unsupported, err, test.want)
		}
	}
}

// TestCosts: on the real clock an upload lasts as long as the link takes, on the virtual one only the work counts.
func TestCosts(t *testing.T) {
	c := cell(nil)
	var page *site.Site // uploads bring their own
	for _, e := range (Workload{}).Costs(c, study.ClockReal, page, study.Options{}) {
		if e.Duration < 10*time.Second || e.Processor > 5*time.Second {
			t.Errorf("on the real clock an upload of 10 s is expected to take %v and %v of the processor", e.Duration, e.Processor)
		}
	}
	for _, e := range (Workload{}).Costs(c, study.ClockVirtual, page, study.Options{}) {
		if e.Duration > 5*time.Second {
			t.Errorf("on the virtual clock it is expected to take %v", e.Duration)
		}
	}
}
