
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

CREATE TABLE cell_value (
  cell     INTEGER NOT NULL REFERENCES cell(id),
  position INTEGER NOT NULL,
  axis     TEXT NOT NULL,
  value    TEXT NOT NULL,
  PRIMARY KEY (cell, axis)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE programs (
  id        INTEGER PRIMARY KEY,
  described TEXT NOT NULL UNIQUE CHECK (json_valid(described))
) STRICT;

CREATE TABLE artefact (
  load   TEXT NOT NULL REFERENCES load(id),
  name   TEXT NOT NULL,
  octets INTEGER NOT NULL CHECK (octets >= 0),
  sha256 TEXT NOT NULL,
  PRIMARY KEY (load, name)
) STRICT, WITHOUT ROWID;

ALTER TABLE published ADD COLUMN statistic TEXT NOT NULL DEFAULT 'median';
ALTER TABLE published ADD COLUMN loads TEXT NOT NULL DEFAULT '';
ALTER TABLE claim ADD COLUMN statistic TEXT NOT NULL DEFAULT 'median';
ALTER TABLE claim_pair ADD COLUMN loads TEXT NOT NULL DEFAULT '';
ALTER TABLE claim_pair ADD COLUMN to_loads TEXT NOT NULL DEFAULT '';

ALTER TABLE claim ADD COLUMN grows TEXT NOT NULL DEFAULT '';
ALTER TABLE claim ADD COLUMN along TEXT NOT NULL DEFAULT '';
