package store

import (
	"database/sql"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"wiretime/study"
)

// viewsSince is the first schema version with views.
const viewsSince = 10

// view is a view of the database. Views are for people and other programs: this package reads none, and they hold no data.
type view struct{ name, text string }

// views are described in docs/store.md and, with examples, in docs/sql.md. Tables are named in the singular, views in the
// plural. Each comes after those that it reads. The medians come from window functions alone: SQLite then applies a condition on
// the run, the cell or the metric to the table value itself, which it does not do beneath a GROUP BY.
func views() []view {
	return []view{
		{"runs", `
SELECT r.id AS run, r.study_name AS study, r.seed, r.wiretime_version,
  strftime('%Y-%m-%dT%H:%M:%SZ', r.started / 1000000000, 'unixepoch') AS started,
  strftime('%Y-%m-%dT%H:%M:%SZ', r.finished / 1000000000, 'unixepoch') AS finished,
  (SELECT count(*) FROM planned p WHERE p.run = r.id) AS planned,
  (SELECT count(*) FROM planned p WHERE p.run = r.id AND p.state = 'done') AS done
FROM run r`},
		{"environments", `
SELECT r.id AS run, e.key AS name, e.value
FROM run r, json_each(r.environment) e`},
		{"cells", `
SELECT c.id AS cell, c.run, r.study_name AS study, ` + axesOfCell() + `,
  (SELECT count(*) FROM planned p WHERE p.cell = c.id) AS planned,
  (SELECT count(*) FROM planned p WHERE p.cell = c.id AND p.state = 'done') AS done,
  ` + attempts() + `
FROM cell c JOIN run r ON r.id = c.run`},
		{"loads", `
SELECT l.id AS load, p.run, c.study, p.cell, p.idx, p.repeat, l.attempt,
  strftime('%Y-%m-%dT%H:%M:%fZ', l.started / 1e9, 'unixepoch') AS started, l.wall_ms, l.validity, l.reason,
  (SELECT group_concat(rule) FROM (SELECT DISTINCT rule FROM violation WHERE load = l.id ORDER BY rule)) AS rules,
  l.artefacts, (SELECT name FROM worker WHERE id = l.worker) AS worker, ` + axes("c") + `
FROM planned p CROSS JOIN load l ON l.planned = p.id CROSS JOIN cells c ON c.cell = p.cell`},
		{"valid_values", `
SELECT v.load, p.run, c.study, p.cell, p.idx, p.repeat, v.metric, m.unit, v.value, ` + axes("c") + `
FROM planned p CROSS JOIN load l ON l.planned = p.id AND l.validity = 'valid' CROSS JOIN value v ON v.load = l.id
  CROSS JOIN metric m ON m.run = p.run AND m.name = v.metric CROSS JOIN cells c ON c.cell = p.cell`},
		{"median_ranks", medianRanks},
		{"medians", `
SELECT s.run, c.study, s.cell, s.metric, m.unit, s.n, s.median, s.low, s.high, s.least, s.most, ` + axes("c") + `
FROM (
  SELECT o.run, o.cell, o.metric, o.n, o.rank,
    avg(CASE WHEN 2 * o.rank BETWEEN o.n AND o.n + 2 THEN o.value END) OVER same AS median,
    max(CASE WHEN o.rank = o.k THEN o.value END) OVER same AS low,
    max(CASE WHEN o.rank = o.n + 1 - o.k THEN o.value END) OVER same AS high,
    min(o.value) OVER same AS least, max(o.value) OVER same AS most
  FROM (
    SELECT r.*, max(CASE WHEN r.rank = 1 THEN (SELECT k FROM median_ranks WHERE n = r.n) END) OVER (PARTITION BY r.run, r.cell, r.metric) AS k
    FROM (
      SELECT p.run, p.cell, v.metric, v.value,
        row_number() OVER (PARTITION BY p.run, p.cell, v.metric ORDER BY v.value) AS rank,
        count(*) OVER (PARTITION BY p.run, p.cell, v.metric) AS n
      FROM planned p CROSS JOIN load l ON l.planned = p.id AND l.validity = 'valid' CROSS JOIN value v ON v.load = l.id
    ) r
  ) o
  WINDOW same AS (PARTITION BY o.run, o.cell, o.metric)
) s CROSS JOIN metric m ON m.run = s.run AND m.name = s.metric CROSS JOIN cells c ON c.cell = s.cell
WHERE s.rank = 1`},
		{"ratios", `
WITH place(run, cell, others) AS MATERIALIZED (
  SELECT c.run, c.id, (SELECT group_concat(axis || '=' || value, ' ') FROM
    (SELECT axis, value FROM cell_value WHERE cell = c.id AND axis NOT IN ('protocol', 'transport') ORDER BY axis))
  FROM cell c
)
SELECT a.run, a.study, a.metric, a.unit, b.protocol AS baseline, a.median / nullif(b.median, 0) AS ratio,
  a.high < b.low OR a.low > b.high AS apart,
  a.cell, a.n, a.median, a.low, a.high,
  b.cell AS baseline_cell, b.n AS baseline_n, b.median AS baseline_median, b.low AS baseline_low, b.high AS baseline_high, ` + axes("a") + `
FROM place x JOIN place y ON y.run = x.run AND y.others = x.others AND y.cell <> x.cell
  JOIN medians a ON a.run = x.run AND a.cell = x.cell
  JOIN medians b ON b.run = a.run AND b.cell = y.cell AND b.metric = a.metric`},
	}
}

// medianRanks says which values of a sample are the ends of the 95 % interval of its median, as stats.Median has it: the k-th
// from below and the k-th from above of n values, for the largest k at which a binomial count with probability 1/2 leaves no more
// than 2.5 % below k. below is the probability of less than k, at that of k - 1; with each further value, k stays or grows by one.
const medianRanks = `
WITH RECURSIVE ranks(n, k, below, at) AS (
  VALUES (6, 1, 1 / 64.0, 1 / 64.0)
  UNION ALL
  SELECT n + 1,
    CASE WHEN below - at / 2 + at * (n + 1) / (2 * k) <= 0.025 THEN k + 1 ELSE k END,
    CASE WHEN below - at / 2 + at * (n + 1) / (2 * k) <= 0.025 THEN below - at / 2 + at * (n + 1) / (2 * k) ELSE below - at / 2 END,
    CASE WHEN below - at / 2 + at * (n + 1) / (2 * k) <= 0.025 THEN at * (n + 1) / (2 * k) ELSE at * (n + 1) / (2 * (n + 2 - k)) END
  FROM ranks WHERE n <= (SELECT max(repeat) FROM planned)
)
SELECT n, k FROM ranks`

// viewedAxis is a column that views have of each cell.
type viewedAxis struct{ name, value string }

// viewedAxes are columns for the axes, named as in exports. They hold the words of the study; numbers, where an axis has no other
// values, are integers.
func viewedAxes() []viewedAxis {
	var all []viewedAxis
	for _, c := range axisColumns {
		var words []string
		for _, axis := range c.holds {
			words = append(words, fmt.Sprintf("'%s'", axis))
		}
		value := "(SELECT value FROM cell_value WHERE cell = c.id AND axis IN (" + strings.Join(words, ", ") + "))"
		if c.kind == reflect.Int {
			value = "CAST(nullif(" + value + ", '" + study.System + "') AS INTEGER)"
		}
		all = append(all, viewedAxis{strings.TrimSuffix(c.name, "_ms"), value})
	}
	return all
}

// axes lists the columns of the axes, of a table with this alias.
func axes(alias string) string {
	var all []string
	for _, a := range viewedAxes() {
		all = append(all, alias+"."+a.name)
	}
	return strings.Join(all, ", ")
}

// axesOfCell computes the columns of the axes for the row c of the table cell.
func axesOfCell() string {
	var all []string
	for _, a := range viewedAxes() {
		all = append(all, a.value+" AS "+a.name)
	}
	return strings.Join(all, ",\n  ")
}

// attempts counts the attempts at the loads of the row c of the table cell.
func attempts() string {
	var all []string
	for _, v := range []Validity{Valid, Invalid, Failed, Unsupported} {
		all = append(all, fmt.Sprintf("(SELECT count(*) FROM planned p JOIN load l ON l.planned = p.id WHERE p.cell = c.id AND l.validity = '%s') AS %s", v, v))
	}
	return strings.Join(all, ",\n  ")
}

// statement makes the view.
func (v view) statement() string { return "CREATE VIEW " + v.name + " AS" + v.text }

// makeViews makes the views of a database that has none of them.
func makeViews() string {
	var all []string
	for _, v := range views() {
		all = append(all, v.statement())
	}
	return strings.Join(all, ";\n") + ";\n"
}

// renewViews makes the views anew if they are not those of this program, which another revision may have made. Something of a
// user's that has the name of a view is an error.
func (s *Store) renewViews() error {
	found := map[string]string{}
	err := each(s, func(rows *sql.Rows) error {
		var kind, name string
		var text sql.NullString
		if err := rows.Scan(&kind, &name, &text); err != nil {
			return err
		}
		if kind == "table" || kind == "view" {
			found[name] = text.String
		}
		return nil
	}, "SELECT type, name, sql FROM sqlite_schema")
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(views(), func(v view) bool { return found[v.name] != v.statement() }) {
		return nil
	}
	return s.transact(func(tx *sql.Tx) error {
		for _, v := range slices.Backward(views()) {
			if _, err := tx.Exec("DROP VIEW IF EXISTS " + v.name); err != nil {
				return err
			}
		}
		_, err := tx.Exec(makeViews())
		return err
	})
}
