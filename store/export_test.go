package store

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wiretime/network"
	"wiretime/study"
)

func exportStore(t *testing.T) *Store {
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	t.Cleanup(func() { mustClose(t, s) })
	pending := begin(t, s, 1)
	failed := measured(pending[1])
	failed.Validity, failed.Reason, failed.Values = Failed, "the browser said \"Oops\", then ended", nil
	for _, r := range []LoadRecord{measured(pending[0]), failed} {
		if err := s.Commit(r); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

const wantCSV = "run,study,load,index,repeat,attempt,seed,site,protocol,network,loader,congestion,initcwnd,clock,visit,strategy,server,link_delay_ms,loss,reconnections,session_load,tcp_window,client_window,server_window,hint,tls,tcp_sack,without,at,loss_direction,delay_variation,parallel,manager,rebinding,clients,activity,started,wall_ms,worker,validity,reason,metric,unit,value\r\n" +
	"1,first,r1-0000-a1,0,0,1,9223372036854775808,flags,h3,cable,chromium,cubic,10,real,cold,browser,wiretime,,,,1,default,default,default,none,1.3,on,nothing,any,,,,,,,,2024-05-06T07:08:09.123456789Z,1500,,valid,,plt,ms,1000.25\r\n" +
	"1,first,r1-0000-a1,0,0,1,9223372036854775808,flags,h3,cable,chromium,cubic,10,real,cold,browser,wiretime,,,,1,default,default,default,none,1.3,on,nothing,any,,,,,,,,2024-05-06T07:08:09.123456789Z,1500,,valid,,drops,packets,3\r\n" +
	"1,first,r1-0001-a1,1,0,1,9223372036854775809,flags,h2,cable,chromium,cubic,10,real,cold,browser,wiretime,,,,1,default,default,default,none,1.3,on,nothing,any,,,,,,,,2024-05-06T07:08:09.123456789Z,1500,,failed,\"the browser said \"\"Oops\"\", then ended\",,,\r\n"

func TestExportCSV(t *testing.T) {
	var out bytes.Buffer
	if err := exportStore(t).ExportCSV(&out, 1); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(wantCSV, out.String()); d != "" {
		t.Error(d)
	}
}

// streamCell is a cell of streams over a transport.
func streamCell(transport string, l study.Link) study.Cell {
	values := l.Values()
	values[study.AxisMedia], values[study.AxisTransport], values[study.AxisPlayer] = "file@1MB", transport, "download"
	return study.NewCell(study.Streams(), values, network.Path{Name: l.Name()})
}

func TestAStreamIsExportedWithItsLink(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	defer mustClose(t, s)
	spec := spec(1)
	for i := range spec.Cells {
		spec.Cells[i] = streamCell(spec.Cells[i].Over(), study.Link{Delay: 12500 * time.Microsecond, Loss: 0.015})
	}
	for i := range spec.Plan {
		spec.Plan[i].Cell = spec.Cells[i]
	}
	run, err := s.BeginRun(spec)
	if err != nil {
		t.Fatal(err)
	}
	pending, err := s.Pending(run)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(study.Link{Delay: 12500 * time.Microsecond, Loss: 0.015}, pending[0].Cell.Link()); d != "" {
		t.Error(d)
	}
	if err := s.Commit(measured(pending[0])); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.ExportCSV(&out, run); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), ",wiretime,12.5,0.015,0,,,,,,,on,,,both,drawn,1,planned,none,,,2024-") {
		t.Error(out.String())
	}
	out.Reset()
	if err := s.ExportJSON(&out, run); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"link_delay_ms": 12.5,`, `"loss": 0.015,`, `"reconnections": 0,`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the JSON lacks %s", want)
		}
	}
}

func TestExportJSONHoldsTheSameRows(t *testing.T) {
	s := exportStore(t)
	var out bytes.Buffer
	if err := s.ExportJSON(&out, 1); err != nil {
		t.Fatal(err)
	}
	var document struct {
		Run struct {
			Study, Seed string
			StudyText   string `json:"study_text"`
			Environment map[string]string
			Finished    *string
			Planned     int
		}
		Metrics []study.Metric
		Rows    []map[string]any
	}
	if err := json.Unmarshal(out.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	r := document.Run
	if r.Study != "first" || r.Seed != "18446744073709551615" || r.StudyText != "name: first\n" || r.Environment["kernel"] != "6.1" || r.Finished != nil || r.Planned != 3 {
		t.Errorf("run is %+v", r)
	}
	if d := cmp.Diff(spec(1).Metrics, document.Metrics); d != "" {
		t.Error(d)
	}
	records, err := csv.NewReader(bytes.NewBufferString(wantCSV)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(document.Rows) != len(records)-1 {
		t.Fatalf("%d rows, want %d", len(document.Rows), len(records)-1)
	}
	for i, row := range document.Rows {
		for j, column := range records[0] {
			want := records[i+1][j]
			got, present := row[column]
			switch v := got.(type) {
			case float64:
				got = decimal(v)
			case nil:
				got = ""
			}
			if !present || got != want {
				t.Errorf("row %d: %s is %v, want %q", i, column, got, want)
			}
		}
		if len(row) != len(records[0]) {
			t.Errorf("row %d has %d fields, the CSV %d", i, len(row), len(records[0]))
		}
	}
}

// TestEveryAxisHasAColumn changes one axis after the other: some column of the row changes with it.
func TestEveryAxisHasAColumn(t *testing.T) {
	exported := func(c study.Cell) (record []string, object map[string]any) {
		row := func(format rowFormat) []byte {
			begin, err := format.begin(about(Run{}, &Load{Cell: c}))
			if err != nil {
				t.Fatal(err)
			}
			metric, err := format.metric("", "")
			if err != nil {
				t.Fatal(err)
			}
			text, err := format.value(append(begin, metric...), nil)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		records, err := csv.NewReader(bytes.NewReader(row(csvRows))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(row(jsonRows), &object); err != nil {
			t.Fatal(err)
		}
		return records[0], object
	}
	for _, w := range study.Workloads() {
		for _, a := range w.Axes {
			one := study.NewCell(w, map[study.Axis]string{a.Axis: "1"}, network.Path{Name: "1"})
			two := one.With(a.Axis, "2")
			switch a.Axis { // whose values are no words, or are the network's
			case study.AxisNetwork:
				two.Network.Name = "2"
			case study.AxisLinkDelay:
				two = one.With(a.Axis, "2ms")
			case study.AxisLoss:
				two = one.With(a.Axis, "2%")
			}
			record, object := exported(one)
			otherRecord, otherObject := exported(two)
			if cmp.Equal(record, otherRecord) {
				t.Errorf("%s: the CSV has no column of the axis %s", w.Name, a.Axis)
			}
			if cmp.Equal(object, otherObject) {
				t.Errorf("%s: the JSON has no key of the axis %s", w.Name, a.Axis)
			}
			if len(record) != len(header) || len(object) != len(header) {
				t.Errorf("%s: %d fields and %d keys, want %d of each", w.Name, len(record), len(object), len(header))
			}
		}
	}
}
