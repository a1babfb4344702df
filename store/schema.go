package store

// SchemaVersion is the version of the schema that this package reads and writes, kept in
// the database as `PRAGMA user_version`. Open rejects a store with a higher version with
// ErrNewer. It upgrades a lower version when it opens the store for writing, and reads it
// unchanged otherwise.
const SchemaVersion = 11

// applicationID marks the database file as Wiretime's ("WIRE" in ASCII), kept
// as `PRAGMA application_id`, where file(1) and other tools look for it.
const applicationID = 0x57495245

// schema is described, column by column, in docs/store.md; change both together. Seeds are
// decimal text because they use all 64 bits and SQLite's integers are signed.
const schema = `
CREATE TABLE run (
  id               INTEGER PRIMARY KEY,
  study_name       TEXT NOT NULL,
  study_text       TEXT NOT NULL,
  seed             TEXT NOT NULL,
  wiretime_version TEXT NOT NULL,
  environment      TEXT NOT NULL CHECK (json_valid(environment)),
  started          INTEGER NOT NULL,
  finished         INTEGER,
  keep             TEXT NOT NULL DEFAULT 'all' CHECK (keep IN ('all', 'compressed', 'median', 'none'))
) STRICT;

CREATE TABLE metric (
  run        INTEGER NOT NULL REFERENCES run(id),
  position   INTEGER NOT NULL,
  name       TEXT NOT NULL,
  unit       TEXT NOT NULL,
  title      TEXT NOT NULL,
  definition TEXT NOT NULL,
  PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE cell (
  id            INTEGER PRIMARY KEY,
  run           INTEGER NOT NULL REFERENCES run(id),
  key           TEXT NOT NULL,
  network       TEXT NOT NULL,
  network_json  TEXT NOT NULL CHECK (json_valid(network_json)),
  UNIQUE (run, key)
) STRICT;

CREATE TABLE planned (
  id     INTEGER PRIMARY KEY,
  run    INTEGER NOT NULL REFERENCES run(id),
  idx    INTEGER NOT NULL,
  cell   INTEGER NOT NULL REFERENCES cell(id),
  repeat INTEGER NOT NULL,
  seed   TEXT NOT NULL,
  state  TEXT NOT NULL DEFAULT 'planned' CHECK (state IN ('planned', 'done')),
  UNIQUE (run, idx),
  UNIQUE (cell, repeat)
) STRICT;

CREATE TABLE load (
  id        TEXT PRIMARY KEY,
  planned   INTEGER NOT NULL REFERENCES planned(id),
  attempt   INTEGER NOT NULL CHECK (attempt >= 1),
  started   INTEGER NOT NULL,
  wall_ms   REAL NOT NULL,
  validity  TEXT NOT NULL CHECK (validity IN ('valid', 'invalid', 'failed', 'unsupported')),
  reason    TEXT NOT NULL,
  artefacts TEXT,
  programs  INTEGER REFERENCES programs(id),
  boot      INTEGER,
  boot_attempt INTEGER,
  worker    INTEGER REFERENCES worker(id),
  UNIQUE (planned, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE value (
  load   TEXT NOT NULL REFERENCES load(id),
  metric TEXT NOT NULL,
  value  REAL NOT NULL,
  PRIMARY KEY (load, metric)
) STRICT, WITHOUT ROWID;

CREATE TABLE violation (
  load   TEXT NOT NULL REFERENCES load(id),
  rule   INTEGER NOT NULL,
  detail TEXT NOT NULL
) STRICT;

CREATE INDEX violation_load ON violation(load);
` + cellValueTable + pageTable + paperTables + programsTable + artefactTable + statisticColumns + growthColumns + workerTables

// cellValueTable holds a row for each axis of each cell, in the order of the workload.
const cellValueTable = `
CREATE TABLE cell_value (
  cell     INTEGER NOT NULL REFERENCES cell(id),
  position INTEGER NOT NULL,
  axis     TEXT NOT NULL,
  value    TEXT NOT NULL,
  PRIMARY KEY (cell, axis)
) STRICT, WITHOUT ROWID;
`

const pageTable = `
CREATE TABLE page (
  load    TEXT NOT NULL REFERENCES load(id),
  number  INTEGER NOT NULL CHECK (number >= 1),
  url     TEXT NOT NULL,
  started REAL NOT NULL,
  dcl     REAL NOT NULL,
  onload  REAL NOT NULL,
  plt     REAL NOT NULL,
  PRIMARY KEY (load, number)
) STRICT, WITHOUT ROWID;
`

// paperTables hold the published figures and claims about a run's cells. statisticColumns adds to them.
const paperTables = `
CREATE TABLE published (
  run          INTEGER NOT NULL REFERENCES run(id),
  number       INTEGER NOT NULL CHECK (number >= 1),
  row          INTEGER NOT NULL CHECK (row >= 1),
  column       INTEGER NOT NULL CHECK (column >= 1),
  source       TEXT NOT NULL,
  metric       TEXT NOT NULL,
  unit         TEXT NOT NULL,
  row_label    TEXT NOT NULL,
  column_label TEXT NOT NULL,
  cell         INTEGER NOT NULL REFERENCES cell(id),
  printed      TEXT NOT NULL,
  value        REAL NOT NULL,
  PRIMARY KEY (run, number, row, column)
) STRICT, WITHOUT ROWID;

CREATE TABLE claim (
  run    INTEGER NOT NULL REFERENCES run(id),
  number INTEGER NOT NULL CHECK (number >= 1),
  text   TEXT NOT NULL,
  ratio  TEXT NOT NULL,
  low    REAL,
  high   REAL,
  open   INTEGER NOT NULL CHECK (open IN (0, 1)),
  PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE claim_pair (
  run       INTEGER NOT NULL,
  claim     INTEGER NOT NULL,
  number    INTEGER NOT NULL CHECK (number >= 1),
  metric    TEXT NOT NULL,
  cell      INTEGER NOT NULL REFERENCES cell(id),
  to_metric TEXT NOT NULL,
  to_cell   INTEGER NOT NULL REFERENCES cell(id),
  PRIMARY KEY (run, claim, number),
  FOREIGN KEY (run, claim) REFERENCES claim(run, number)
) STRICT, WITHOUT ROWID;
`

// statisticColumns say which statistic a figure or a claim is about, and of which loads of a session.
const statisticColumns = `
ALTER TABLE published ADD COLUMN statistic TEXT NOT NULL DEFAULT 'median';
ALTER TABLE published ADD COLUMN loads TEXT NOT NULL DEFAULT '';
ALTER TABLE claim ADD COLUMN statistic TEXT NOT NULL DEFAULT 'median';
ALTER TABLE claim_pair ADD COLUMN loads TEXT NOT NULL DEFAULT '';
ALTER TABLE claim_pair ADD COLUMN to_loads TEXT NOT NULL DEFAULT '';
`

// growthColumns say what grows along which number, for claims that have no range.
const growthColumns = `
ALTER TABLE claim ADD COLUMN grows TEXT NOT NULL DEFAULT '';
ALTER TABLE claim ADD COLUMN along TEXT NOT NULL DEFAULT '';
`

// programsTable describes the programs that loads on the virtual clock follow from.
const programsTable = `
CREATE TABLE programs (
  id        INTEGER PRIMARY KEY,
  described TEXT NOT NULL UNIQUE CHECK (json_valid(described))
) STRICT;
`

// artefactTable describes the files of the loads whose artefacts were dropped.
const artefactTable = `
CREATE TABLE artefact (
  load   TEXT NOT NULL REFERENCES load(id),
  name   TEXT NOT NULL,
  octets INTEGER NOT NULL CHECK (octets >= 0),
  sha256 TEXT NOT NULL,
  PRIMARY KEY (load, name)
) STRICT, WITHOUT ROWID;
`

// workerTables hold the processes that carry out loads for a run beside its own, and the loads that were taken back from them.
const workerTables = `
CREATE TABLE worker (
  id        INTEGER PRIMARY KEY,
  run       INTEGER NOT NULL REFERENCES run(id),
  name      TEXT NOT NULL,
  described TEXT NOT NULL CHECK (json_valid(described)),
  UNIQUE (run, name)
) STRICT;

CREATE TABLE retracted (
  id     INTEGER PRIMARY KEY,
  run    INTEGER NOT NULL REFERENCES run(id),
  load   TEXT NOT NULL,
  worker INTEGER REFERENCES worker(id),
  why    TEXT NOT NULL,
  at     INTEGER NOT NULL,
  record TEXT NOT NULL CHECK (json_valid(record))
) STRICT;
`

// upgrades has the statements that upgrade a store from each earlier schema version to the next.
// Store.upgradeCells upgrades the version that is not here, and version 9 gets the views.
var upgrades = map[int]string{
	// Before the virtual clock existed, every cell was on the real one.
	1: "ALTER TABLE cell ADD COLUMN clock TEXT NOT NULL DEFAULT 'real' CHECK (clock IN ('real', 'virtual'))",
	// Before visits and strategies existed, every load was cold and used its loader's own
	// strategy.
	2: `ALTER TABLE cell ADD COLUMN visit TEXT NOT NULL DEFAULT 'cold' CHECK (visit IN ('cold', 'resumed', '0rtt', 'connected', 'cached'));
	ALTER TABLE cell ADD COLUMN strategy TEXT NOT NULL DEFAULT 'browser';` + pageTable + paperTables,
	// Before other servers existed, Wiretime's own served every load.
	3: "ALTER TABLE cell ADD COLUMN server TEXT NOT NULL DEFAULT 'wiretime'",
	// Before streams existed, every cell was one of pages.
	4: `ALTER TABLE cell ADD COLUMN link_delay_ms REAL CHECK (link_delay_ms >= 0);
	ALTER TABLE cell ADD COLUMN loss REAL CHECK (loss BETWEEN 0 AND 1);
	ALTER TABLE cell ADD COLUMN reconnections INTEGER CHECK (reconnections >= 0);`,
	// Before artefacts could be dropped, every load kept its own, and nothing said how to make
	// them again.
	6: programsTable + artefactTable + `
	ALTER TABLE run ADD COLUMN keep TEXT NOT NULL DEFAULT 'all' CHECK (keep IN ('all', 'compressed', 'median', 'none'));
	ALTER TABLE load ADD COLUMN programs INTEGER REFERENCES programs(id);
	ALTER TABLE load ADD COLUMN boot INTEGER;
	ALTER TABLE load ADD COLUMN boot_attempt INTEGER;`,
	// Before other statistics and sessions existed, every figure and claim was about the median of
	// a cell's loads.
	7: statisticColumns,
	// Before claims of growth existed, every claim had a range.
	8: growthColumns,
	// Before workers existed, the run's own process made every load.
	10: workerTables + "ALTER TABLE load ADD COLUMN worker INTEGER REFERENCES worker(id);",
}
