package store

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"wiretime/study"
)

// Figure is one number of a table in a paper.
type Figure struct {
	Table       int    `json:"table"`  // from 1, in the order of the study
	Row         int    `json:"row"`    // in the table, from 1
	Column      int    `json:"column"` // likewise
	Source      string `json:"source"` // author, year, table
	Metric      string `json:"metric"` // of the run: the metric that the figure is compared with
	Unit        string `json:"unit"`   // of the table
	RowLabel    string `json:"row_label"`
	ColumnLabel string `json:"column_label"`
	Cell        string `json:"cell"`      // the Key of the cell that the figure is about
	Statistic   string `json:"statistic"` // of the cell's loads (study.CheckStatistic)
	// Loads has the loads of a session that the figure pools, as in "2-100"; Cell is then the first of them.
	// Empty: the figure is about Cell alone.
	Loads   string  `json:"loads,omitempty"`
	Printed string  `json:"printed"` // as printed in the paper
	Value   float64 `json:"value"`   // in the metric's unit
}

// Claim is a statement about cells: the ratio of two medians, or of another statistic, lies in a range, or grows along a number.
type Claim struct {
	Text      string  `json:"text"`
	Statistic string  `json:"statistic"` // of each cell's loads (study.CheckStatistic)
	Ratio     string  `json:"ratio"`     // the range in words, such as "below 1"
	Low       float64 `json:"-"`         // of the range; 0: none
	High      float64 `json:"-"`         // of the range; +Inf: none
	Open      bool    `json:"-"`         // the ends are not part of the range
	// Grows has what grows, study.OfRatio or study.OfDifference, and Along the ID of the number that it grows with. They are empty
	// for a claim with a range.
	Grows string      `json:"grows,omitempty"`
	Along string      `json:"along,omitempty"`
	Pairs []ClaimPair `json:"pairs"`
}

// ClaimPair names the two figures of a claim's ratio, numerator first.
type ClaimPair struct {
	Metric   string `json:"metric"`
	Cell     string `json:"cell"` // its Key
	ToMetric string `json:"to_metric"`
	ToCell   string `json:"to_cell"`
	// Loads and ToLoads have the loads that Cell and ToCell stand for, as in Figure.
	Loads   string `json:"loads,omitempty"`
	ToLoads string `json:"to_loads,omitempty"`
}

func insertPaper(tx *sql.Tx, run int64, spec RunSpec, cells map[string]int64) error {
	cell := func(key string) any {
		if id, ok := cells[key]; ok {
			return id
		}
		return nil // which the schema rejects
	}
	for _, f := range spec.Published {
		if _, err := tx.Exec(`INSERT INTO published (run, number, row, column, source, metric, unit, row_label, column_label, cell, printed, value, statistic, loads) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			run, f.Table, f.Row, f.Column, f.Source, f.Metric, f.Unit, f.RowLabel, f.ColumnLabel, cell(f.Cell), f.Printed, f.Value, cmp.Or(f.Statistic, study.Median), f.Loads); err != nil {
			return fmt.Errorf("published figure %s of %q: %w", f.Printed, f.Cell, err)
		}
	}
	for i, c := range spec.Claims {
		low, high := sql.NullFloat64{Float64: c.Low, Valid: c.Low > 0}, sql.NullFloat64{Float64: c.High, Valid: !math.IsInf(c.High, 1)}
		if _, err := tx.Exec(`INSERT INTO claim (run, number, text, ratio, low, high, open, statistic, grows, along) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			run, i+1, c.Text, c.Ratio, low, high, c.Open, cmp.Or(c.Statistic, study.Median), c.Grows, c.Along); err != nil {
			return fmt.Errorf("claim %q: %w", c.Text, err)
		}
		for j, p := range c.Pairs {
			if _, err := tx.Exec(`INSERT INTO claim_pair (run, claim, number, metric, cell, to_metric, to_cell, loads, to_loads) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				run, i+1, j+1, p.Metric, cell(p.Cell), p.ToMetric, cell(p.ToCell), p.Loads, p.ToLoads); err != nil {
				return fmt.Errorf("claim %q on %q and %q: %w", c.Text, p.Cell, p.ToCell, err)
			}
		}
	}
	return nil
}

// paperSince is the first schema version with published figures and claims.
const paperSince = 3

// statisticSince is the first schema version that names statistics and pools loads of sessions.
const statisticSince = 8

// growthSince is the first schema version with claims of growth.
const growthSince = 9

// since returns the columns to select if the schema has at least that version, and otherwise before: expressions for
// what was true of all rows until then.
func (s *Store) since(version int, columns, before string) string {
	if s.version < version {
		return before
	}
	return columns
}

// checkStatistic returns ErrDamaged if a database names an unknown statistic or an invalid range of loads.
func checkStatistic(statistic, loads string) error {
	err := study.CheckStatistic(statistic)
	if err == nil && loads != "" {
		_, _, err = study.ParseLoads(loads)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// Published returns the figures that papers printed for a run's cells, by table and row.
func (s *Store) Published(run int64) ([]Figure, error) {
	if s.version < paperSince {
		return nil, nil
	}
	figures, err := query(s, func(rows *sql.Rows) (f Figure, err error) {
		return f, rows.Scan(&f.Table, &f.Row, &f.Column, &f.Source, &f.Metric, &f.Unit, &f.RowLabel, &f.ColumnLabel, &f.Cell, &f.Printed, &f.Value, &f.Statistic, &f.Loads)
	}, `SELECT p.number, p.row, p.column, p.source, p.metric, p.unit, p.row_label, p.column_label, c.key, p.printed, p.value, `+s.since(statisticSince, "p.statistic, p.loads", "'median', ''")+`
		FROM published p JOIN cell c ON c.id = p.cell WHERE p.run = ? ORDER BY p.number, p.row, p.column`, run)
	for _, f := range figures {
		err = errors.Join(err, checkStatistic(f.Statistic, f.Loads))
	}
	if err != nil {
		return nil, fmt.Errorf("published figures of run %d: %w", run, err)
	}
	return figures, nil
}

// Claims returns the claims about a run's cells in display order.
func (s *Store) Claims(run int64) ([]Claim, error) {
	if s.version < paperSince {
		return nil, nil
	}
	claims, err := query(s, func(rows *sql.Rows) (c Claim, err error) {
		return c, rows.Scan(&c.Text, &c.Ratio, &c.Low, &c.High, &c.Open, &c.Statistic, &c.Grows, &c.Along)
	}, "SELECT text, ratio, coalesce(low, 0), coalesce(high, 9e999), open, "+s.since(statisticSince, "statistic", "'median'")+", "+s.since(growthSince, "grows, along", "'', ''")+" FROM claim WHERE run = ? ORDER BY number", run)
	if err != nil {
		return nil, fmt.Errorf("claims of run %d: %w", run, err)
	}
	type numbered struct {
		ClaimPair
		claim int
	}
	pairs, err := query(s, func(rows *sql.Rows) (p numbered, err error) {
		return p, rows.Scan(&p.claim, &p.Metric, &p.Cell, &p.ToMetric, &p.ToCell, &p.Loads, &p.ToLoads)
	}, `SELECT p.claim, p.metric, a.key, p.to_metric, b.key, `+s.since(statisticSince, "p.loads, p.to_loads", "'', ''")+`
		FROM claim_pair p JOIN cell a ON a.id = p.cell JOIN cell b ON b.id = p.to_cell WHERE p.run = ? ORDER BY p.claim, p.number`, run)
	if err != nil {
		return nil, fmt.Errorf("claims of run %d: %w", run, err)
	}
	for _, c := range claims {
		if err := checkStatistic(c.Statistic, ""); err != nil {
			return nil, fmt.Errorf("claims of run %d: %w", run, err)
		}
		if c.Grows != "" && c.Grows != study.OfRatio && c.Grows != study.OfDifference {
			return nil, fmt.Errorf("claims of run %d: %w: in one of them %.40q grows", run, ErrDamaged, c.Grows)
		}
	}
	for _, p := range pairs {
		if err := errors.Join(checkStatistic(study.Median, p.Loads), checkStatistic(study.Median, p.ToLoads)); err != nil {
			return nil, fmt.Errorf("claims of run %d: %w", run, err)
		}
		if p.claim < 1 || p.claim > len(claims) {
			return nil, fmt.Errorf("claims of run %d: %w: it has no claim %d", run, ErrDamaged, p.claim)
		}
		claims[p.claim-1].Pairs = append(claims[p.claim-1].Pairs, p.ClaimPair)
	}
	return claims, nil
}
