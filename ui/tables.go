package ui

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"wiretime/capture"
	"wiretime/report"
	"wiretime/store"
	"wiretime/study"
)

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// results reads the cells of a run with the values of the metrics that its tables show, and of those that the request names.
func (s *Server) results(r *http.Request, use func(st *store.Store, run store.Run, metrics []study.Metric, whole []store.Result) error) error {
	id, err := number(r, "run")
	if err != nil {
		return err
	}
	names, err := metricsIn(r)
	if err != nil {
		return err
	}
	return s.stores.with(func(st *store.Store, _ int64) error {
		s.reading.Lock() // always within the store's, as in kept
		defer s.reading.Unlock()
		run, err := st.Run(id)
		if err != nil {
			return err
		}
		metrics, err := st.Metrics(id)
		if err != nil {
			return err
		}
		published, err := st.Published(id)
		if err != nil {
			return err
		}
		claims, err := st.Claims(id)
		if err != nil {
			return err
		}
		whole, err := st.Results(id, slices.Concat(report.ShownMetrics(metrics, published, claims), names)...)
		if err != nil {
			return err
		}
		return use(st, run, metrics, whole)
	})
}

// cellsTable has a row for each cell and metric.
func (s *Server) cellsTable(r *http.Request) (*table, error) {
	t := &table{}
	err := s.results(r, func(_ *store.Store, run store.Run, metrics []study.Metric, whole []store.Result) error {
		t.name = fmt.Sprintf("run-%d-cells", run.ID)
		results, _ := report.Pooled(whole)
		if len(results) == 0 {
			return nil
		}
		var head []string
		for _, a := range results[0].Cell.Workload.Axes {
			head = append(head, string(a.Axis))
		}
		t.add(append(head, "metric", "unit", "n", "median", "interval", "low", "high", "min", "max", "cv", "valid", "invalid", "failed", "unsupported", "pending")...)
		for _, c := range results {
			for _, m := range metrics {
				values := c.Values[m.Name]
				if len(values) == 0 {
					continue
				}
				var row []string
				for _, a := range c.Cell.Workload.Axes {
					row = append(row, c.Cell.On(a.Axis))
				}
				sum := report.Summarize(values)
				t.add(append(row, m.Name, m.Unit, strconv.Itoa(sum.N), decimal(sum.Median), strconv.FormatBool(sum.Interval), decimal(sum.Low), decimal(sum.High), decimal(sum.Min), decimal(sum.Max), decimal(sum.CV),
					strconv.Itoa(c.Valid), strconv.Itoa(c.Invalid), strconv.Itoa(c.Failed), strconv.Itoa(c.Unsupported), strconv.Itoa(c.Pending))...)
			}
		}
		return nil
	})
	return t, err
}

// ratiosTable has a row for each cell that is compared with a baseline.
func (s *Server) ratiosTable(r *http.Request) (*table, error) {
	run, err := number(r, "run")
	if err != nil {
		return nil, err
	}
	t := &table{name: fmt.Sprintf("run-%d-ratios", run)}
	err = s.stores.with(func(st *store.Store, _ int64) error {
		s.reading.Lock()
		defer s.reading.Unlock()
		ratios, err := ratiosOf(st, run, r.URL.Query().Get("metric"), r.URL.Query().Get("baseline"))
		if err != nil {
			return err
		}
		cells, err := st.Cells(run)
		if err != nil {
			return err
		}
		skeleton := make([]store.Result, len(cells))
		for i, c := range cells {
			skeleton[i] = store.Result{Cell: c}
		}
		pooled, _ := report.Pooled(skeleton)
		t.add("cell", "baseline", "metric", "unit", "ratio", "low", "high", "difference", "difference_low", "difference_high", "interval", "n", "n_baseline")
		for _, p := range ratios.Pairs {
			t.add(pooled[p.Cell].Cell.Key(), pooled[p.Base].Cell.Key(), ratios.Metric, ratios.Unit, decimal(p.Ratio), decimal(p.Low), decimal(p.High),
				decimal(p.Diff), decimal(p.DiffLow), decimal(p.DiffHigh), strconv.FormatBool(p.Interval), strconv.Itoa(p.N), strconv.Itoa(p.NBase))
		}
		return nil
	})
	return t, err
}

// claimsTable has a row for each pair of each claim.
func (s *Server) claimsTable(r *http.Request) (*table, error) {
	t := &table{}
	err := s.results(r, func(st *store.Store, run store.Run, metrics []study.Metric, whole []store.Result) error {
		t.name = fmt.Sprintf("run-%d-claims", run.ID)
		claims, err := st.Claims(run.ID)
		if err != nil {
			return err
		}
		t.add("claim", "test", "pair", "ratio", "interval", "low", "high", "outcome", "verdict")
		for _, c := range report.JudgeClaims(whole, metrics, claims, run.Seed) {
			for _, p := range c.Pairs {
				t.add(c.Text, c.Test, p.Name, decimal(p.Ratio), strconv.FormatBool(p.Interval), decimal(p.Low), decimal(p.High), p.Outcome, c.Verdict)
			}
		}
		return nil
	})
	return t, err
}

// printedTable has a row for each figure that a paper printed.
func (s *Server) printedTable(r *http.Request) (*table, error) {
	t := &table{}
	err := s.results(r, func(st *store.Store, run store.Run, _ []study.Metric, whole []store.Result) error {
		t.name = fmt.Sprintf("run-%d-printed", run.ID)
		published, err := st.Published(run.ID)
		if err != nil {
			return err
		}
		t.add("table", "row", "column", "metric", "statistic", "unit", "printed", "scale", "measured", "interval", "low", "high", "n", "ratio")
		for _, p := range report.CompareTables(whole, published, run.Seed) {
			for _, f := range p.Figures {
				t.add(p.Source, p.Rows[f.Row], p.Columns[f.Column], p.Metric, p.Statistic, p.Unit, f.Printed, decimal(p.Scale), decimal(f.Here.Value),
					strconv.FormatBool(f.Here.Reached), decimal(f.Here.Low), decimal(f.Here.High), strconv.Itoa(f.Here.N), decimal(f.Ratio))
			}
		}
		return nil
	})
	return t, err
}

// cellTable has a row for each load of a cell.
func (s *Server) cellTable(r *http.Request) (*table, error) {
	run, err := number(r, "run")
	if err != nil {
		return nil, err
	}
	cell, err := number(r, "cell")
	if err != nil {
		return nil, err
	}
	t := &table{name: fmt.Sprintf("run-%d-cell-%d", run, cell)}
	err = s.stores.with(func(st *store.Store, _ int64) error {
		data, loads, err := report.OfCell(st, run, int(cell), report.Files{})
		if err != nil {
			return err
		}
		head := []string{"load", "cell", "repeat", "attempt", "started", "wall_ms", "validity", "reason"}
		for _, m := range data.Metrics {
			head = append(head, m.Name+"_"+m.Unit)
		}
		t.add(head...)
		for _, l := range loads {
			row := []string{l.ID, l.Cell.Key(), strconv.Itoa(l.Repeat), strconv.Itoa(l.Attempt), l.Started.UTC().Format("2006-01-02T15:04:05.000Z"), decimal(float64(l.Wall) / 1e6), string(l.Validity), l.Reason}
			for _, m := range data.Metrics {
				value := ""
				if v, ok := l.Values[m.Name]; ok {
					value = decimal(v)
				}
				row = append(row, value)
			}
			t.add(row...)
		}
		return nil
	})
	return t, err
}

// requestsTable has a row for each request of a load.
func (s *Server) requestsTable(r *http.Request) (*table, error) {
	t := &table{}
	har, err := s.harOf(r)
	if err != nil {
		return nil, err
	}
	t.name = r.PathValue("load") + "-requests"
	t.add("page", "started", "method", "url", "status", "protocol", "type", "priority", "connection", "address", "blocked_ms", "dns_ms", "connect_ms", "ssl_ms", "send_ms", "wait_ms", "receive_ms", "octets", "error")
	for _, e := range har.Log.Entries {
		p := e.Timings
		t.add(e.Page, e.Started.UTC().Format("2006-01-02T15:04:05.000000Z"), e.Request.Method, e.Request.URL, strconv.Itoa(e.Response.Status), e.Response.HTTPVersion, e.ResourceType, e.Priority, e.Connection, e.ServerIPAddress,
			decimal(p.Blocked), decimal(p.DNS), decimal(p.Connect), decimal(p.SSL), decimal(p.Send), decimal(p.Wait), decimal(p.Receive), strconv.FormatInt(e.Response.TransferSize, 10), e.Response.Error)
	}
	return t, nil
}

// harOf reads the HAR of the request's load.
func (s *Server) harOf(r *http.Request) (*capture.HAR, error) {
	id := r.PathValue("load")
	var l store.Load
	err := s.stores.with(func(st *store.Store, _ int64) (err error) {
		l, err = s.withFiles(st, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	har, err := s.Files.HAR(l)
	if err == nil && har == nil {
		err = fmt.Errorf("read the requests of load %s: it left no HAR: %w", id, errNotFound)
	}
	return har, err
}

// pathTable has a row for each step of a load's critical paths.
func (s *Server) pathTable(r *http.Request) (*table, error) {
	var answer *loadAnswer
	err := s.stores.with(func(st *store.Store, _ int64) (err error) {
		answer, err = s.describe(st, r.PathValue("load"))
		return err
	})
	if err != nil {
		return nil, err
	}
	if answer.Path == nil {
		return nil, fmt.Errorf("read the critical path of load %s: it has none: %w", r.PathValue("load"), errNotFound)
	}
	t := &table{name: r.PathValue("load") + "-path"}
	t.add("page", "from_us", "to_us", "kind", "phase", "url", "seen")
	for _, p := range answer.Path {
		for _, step := range p.Steps {
			t.add(p.Page, strconv.FormatInt(step[0], 10), strconv.FormatInt(step[1], 10), answer.Kinds[step[2]], answer.Words[step[3]], answer.Words[step[4]], strconv.FormatInt(step[5], 10))
		}
	}
	return t, nil
}
