package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
	"time"

	"wiretime/network"
	"wiretime/study"
)

// insertCell stores a cell with its network, so that a store is self-contained, and its
// value on each axis.
func insertCell(tx *sql.Tx, run int64, c study.Cell) (int64, error) {
	if clock := c.Clock(); clock != study.ClockReal && clock != study.ClockVirtual && clock != study.ClockLive {
		return 0, fmt.Errorf("clock %q: it must be %s, %s or %s by now", clock, study.ClockReal, study.ClockVirtual, study.ClockLive)
	}
	path, err := json.Marshal(c.Network)
	if err != nil {
		return 0, fmt.Errorf("describe network %s: %w", c.Network.Name, err)
	}
	row, err := tx.Exec(`INSERT INTO cell (run, key, network, network_json) VALUES (?, ?, ?, ?)`, run, c.Key(), c.Network.Name, string(path))
	if err != nil {
		return 0, err
	}
	id, err := row.LastInsertId()
	if err != nil {
		return 0, err
	}
	return id, insertValues(tx, id, c)
}

func insertValues(tx *sql.Tx, id int64, c study.Cell) error {
	for i, v := range c.Values {
		if err := checkName("value on axis "+string(v.Axis), v.Word); err != nil {
			return err
		}
		if _, err := tx.Exec(`INSERT INTO cell_value (cell, position, axis, value) VALUES (?, ?, ?, ?)`, id, i, string(v.Axis), v.Word); err != nil {
			return fmt.Errorf("axis %s: %w", v.Axis, err)
		}
	}
	return nil
}

// cellOf returns a cell by its row ID.
func cellOf(cells map[int64]study.Cell, id int64) (study.Cell, error) {
	c, ok := cells[id]
	if !ok {
		return c, fmt.Errorf("%w: it has no cell %d of the same run", ErrDamaged, id)
	}
	return c, nil
}

// axesSince is the first schema version that keeps a cell's axes as rows. Earlier ones had a
// column for each.
const axesSince = 6

// cells returns the cells of a run by their row IDs.
func (s *Store) cells(run int64) (map[int64]study.Cell, error) {
	if s.version < axesSince {
		return s.columnCells(s.db, run)
	}
	values := map[int64]map[study.Axis]string{}
	_, err := query(s, func(rows *sql.Rows) (_ struct{}, err error) {
		var id int64
		var axis, value string
		if err := rows.Scan(&id, &axis, &value); err != nil {
			return struct{}{}, err
		}
		if values[id] == nil {
			values[id] = map[study.Axis]string{}
		}
		values[id][study.Axis(axis)] = value
		return struct{}{}, checkRead("value on an axis", value)
	}, `SELECT c.id, v.axis, v.value FROM cell c JOIN cell_value v ON v.cell = c.id WHERE c.run = ? ORDER BY c.id, v.position`, run)
	if err != nil {
		return nil, err
	}
	paths := map[int64]network.Path{}
	_, err = query(s, func(rows *sql.Rows) (_ struct{}, err error) {
		var id int64
		var name, path string
		if err := rows.Scan(&id, &name, &path); err != nil {
			return struct{}{}, err
		}
		if err := checkRead("name of a network", name); err != nil {
			return struct{}{}, err
		}
		paths[id], err = readPath(name, path)
		return struct{}{}, err
	}, "SELECT id, network, network_json FROM cell WHERE run = ? ORDER BY id", run)
	if err != nil {
		return nil, err
	}
	cells := make(map[int64]study.Cell, len(values))
	for id, on := range values {
		w, err := workloadOf(on)
		if err != nil {
			return nil, fmt.Errorf("cell %d: %w", id, err)
		}
		cells[id] = study.NewCell(w, on, paths[id])
	}
	return cells, nil
}

// workloadOf finds the workload whose cells have these axes.
func workloadOf(values map[study.Axis]string) (*study.Workload, error) {
	if w := study.WorkloadOf(values); w != nil {
		return w, nil
	}
	return nil, fmt.Errorf("%w: it has no axis that says what is loaded", ErrDamaged)
}

func readPath(name, text string) (network.Path, error) {
	var p network.Path
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, fmt.Errorf("read network %s: %w", name, err)
	}
	p.Name = name
	return p, nil
}

// querier is a database or a transaction.
type querier interface {
	Query(statement string, args ...any) (*sql.Rows, error)
}

// columnCells returns the cells of a run, or of all runs if run is 0, from a database of an
// earlier version. In columns that it lacks, all cells had one value.
func (s *Store) columnCells(db querier, run int64) (map[int64]study.Cell, error) {
	columns := []string{"id, site, protocol, network, network_json, loader, congestion, initcwnd"}
	for _, later := range []struct {
		since           int
		columns, before string
	}{
		{2, "clock", "'real'"},
		{3, "visit, strategy", "'cold', 'browser'"},
		{4, "server", "'wiretime'"},
		{5, "link_delay_ms, loss, reconnections", "NULL, NULL, NULL"},
	} {
		if s.version >= later.since {
			columns = append(columns, later.columns)
		} else {
			columns = append(columns, later.before)
		}
	}
	rows, err := db.Query("SELECT "+strings.Join(columns, ", ")+" FROM cell WHERE run = ? OR ? = 0 ORDER BY id", run, run)
	if err != nil {
		return nil, explain(err)
	}
	defer rows.Close()
	cells := map[int64]study.Cell{}
	for rows.Next() {
		id, c, err := scanColumns(rows)
		if err != nil {
			return nil, explain(err)
		}
		cells[id] = c
	}
	return cells, explain(rows.Err())
}

func scanColumns(rows *sql.Rows) (id int64, c study.Cell, err error) {
	var subject, over, name, path, by, congestion, initcwnd, clock, visit, strategy, server string
	var delay, loss sql.NullFloat64
	var reconnections sql.NullInt64
	if err := rows.Scan(&id, &subject, &over, &name, &path, &by, &congestion, &initcwnd, &clock, &visit, &strategy, &server, &delay, &loss, &reconnections); err != nil {
		return 0, c, err
	}
	values := map[study.Axis]string{
		study.AxisCongestion: congestion, study.AxisInitCwnd: initcwnd, study.AxisClock: clock, study.AxisStrategy: strategy,
	}
	w := study.Pages()
	if delay.Valid {
		w = study.Streams()
		l := study.Link{Delay: time.Duration(math.Round(delay.Float64 * 1e6)), Loss: loss.Float64, Reconnections: int(reconnections.Int64)}
		maps.Copy(values, l.Values())
	} else {
		values[study.AxisNetwork], values[study.AxisVisit], values[study.AxisServer] = name, visit, server
	}
	values[w.Subject], values[w.Over], values[w.By] = subject, over, by
	p, err := readPath(name, path)
	return id, study.NewCell(w, values, p), err
}

// upgradeCells turns the columns of a cell into rows.
func (s *Store) upgradeCells(tx *sql.Tx) error {
	s.version = axesSince - 1 // which the statements before this have made it
	cells, err := s.columnCells(tx, 0)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(cellValueTable); err != nil {
		return err
	}
	for id, c := range cells {
		if err := insertValues(tx, id, c); err != nil {
			return fmt.Errorf("cell %d: %w", id, err)
		}
	}
	for _, column := range []string{"site", "protocol", "loader", "congestion", "initcwnd", "clock", "visit", "strategy", "server", "link_delay_ms", "loss", "reconnections"} {
		if _, err := tx.Exec("ALTER TABLE cell DROP COLUMN " + column); err != nil {
			return err
		}
	}
	return nil
}
