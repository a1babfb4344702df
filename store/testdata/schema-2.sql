CREATE TABLE run (
  id               INTEGER PRIMARY KEY,
  study_name       TEXT NOT NULL,
  study_text       TEXT NOT NULL,
  seed             TEXT NOT NULL,
  wiretime_version TEXT NOT NULL,
  environment      TEXT NOT NULL CHECK (json_valid(environment)),
  started          INTEGER NOT NULL,
  finished         INTEGER
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
  id           INTEGER PRIMARY KEY,
  run          INTEGER NOT NULL REFERENCES run(id),
  key          TEXT NOT NULL,
  site         TEXT NOT NULL,
  protocol     TEXT NOT NULL,
  network      TEXT NOT NULL,
  network_json TEXT NOT NULL CHECK (json_valid(network_json)),
  loader       TEXT NOT NULL,
  congestion   TEXT NOT NULL,
  initcwnd     INTEGER NOT NULL,
  clock        TEXT NOT NULL CHECK (clock IN ('real', 'virtual')),
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
