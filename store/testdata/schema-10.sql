
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
CREATE VIEW runs AS
SELECT r.id AS run, r.study_name AS study, r.seed, r.wiretime_version,
  strftime('%Y-%m-%dT%H:%M:%SZ', r.started / 1000000000, 'unixepoch') AS started,
  strftime('%Y-%m-%dT%H:%M:%SZ', r.finished / 1000000000, 'unixepoch') AS finished,
  (SELECT count(*) FROM planned p WHERE p.run = r.id) AS planned,
  (SELECT count(*) FROM planned p WHERE p.run = r.id AND p.state = 'done') AS done
FROM run r;
CREATE VIEW environments AS
SELECT r.id AS run, e.key AS name, e.value
FROM run r, json_each(r.environment) e;
CREATE VIEW cells AS
SELECT c.id AS cell, c.run, r.study_name AS study, (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('site', 'media', 'upload')) AS site,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('protocol', 'transport')) AS protocol,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('network')) AS network,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('loader', 'player')) AS loader,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('congestion')) AS congestion,
  CAST(nullif((SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('initcwnd')), 'system') AS INTEGER) AS initcwnd,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('clock')) AS clock,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('visit')) AS visit,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('strategy')) AS strategy,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('server')) AS server,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('link_delay')) AS link_delay,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('loss')) AS loss,
  CAST(nullif((SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('reconnections')), 'system') AS INTEGER) AS reconnections,
  CAST(nullif((SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('load')), 'system') AS INTEGER) AS session_load,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('tcp_window')) AS tcp_window,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('client_window')) AS client_window,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('server_window')) AS server_window,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('hint')) AS hint,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('tls')) AS tls,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('tcp_sack')) AS tcp_sack,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('without')) AS without,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('loss_direction')) AS loss_direction,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('delay_variation')) AS delay_variation,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('parallel')) AS parallel,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('manager')) AS manager,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('rebinding')) AS rebinding,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('clients')) AS clients,
  (SELECT value FROM cell_value WHERE cell = c.id AND axis IN ('activity')) AS activity,
  (SELECT count(*) FROM planned p WHERE p.cell = c.id) AS planned,
  (SELECT count(*) FROM planned p WHERE p.cell = c.id AND p.state = 'done') AS done,
  (SELECT count(*) FROM planned p JOIN load l ON l.planned = p.id WHERE p.cell = c.id AND l.validity = 'valid') AS valid,
  (SELECT count(*) FROM planned p JOIN load l ON l.planned = p.id WHERE p.cell = c.id AND l.validity = 'invalid') AS invalid,
  (SELECT count(*) FROM planned p JOIN load l ON l.planned = p.id WHERE p.cell = c.id AND l.validity = 'failed') AS failed,
  (SELECT count(*) FROM planned p JOIN load l ON l.planned = p.id WHERE p.cell = c.id AND l.validity = 'unsupported') AS unsupported
FROM cell c JOIN run r ON r.id = c.run;
CREATE VIEW loads AS
SELECT l.id AS load, p.run, c.study, p.cell, p.idx, p.repeat, l.attempt,
  strftime('%Y-%m-%dT%H:%M:%fZ', l.started / 1e9, 'unixepoch') AS started, l.wall_ms, l.validity, l.reason,
  (SELECT group_concat(rule) FROM (SELECT DISTINCT rule FROM violation WHERE load = l.id ORDER BY rule)) AS rules,
  l.artefacts, c.site, c.protocol, c.network, c.loader, c.congestion, c.initcwnd, c.clock, c.visit, c.strategy, c.server, c.link_delay, c.loss, c.reconnections, c.session_load, c.tcp_window, c.client_window, c.server_window, c.hint, c.tls, c.tcp_sack, c.without, c.loss_direction, c.delay_variation, c.parallel, c.manager, c.rebinding, c.clients, c.activity
FROM planned p CROSS JOIN load l ON l.planned = p.id CROSS JOIN cells c ON c.cell = p.cell;
CREATE VIEW valid_values AS
SELECT v.load, p.run, c.study, p.cell, p.idx, p.repeat, v.metric, m.unit, v.value, c.site, c.protocol, c.network, c.loader, c.congestion, c.initcwnd, c.clock, c.visit, c.strategy, c.server, c.link_delay, c.loss, c.reconnections, c.session_load, c.tcp_window, c.client_window, c.server_window, c.hint, c.tls, c.tcp_sack, c.without, c.loss_direction, c.delay_variation, c.parallel, c.manager, c.rebinding, c.clients, c.activity
FROM planned p CROSS JOIN load l ON l.planned = p.id AND l.validity = 'valid' CROSS JOIN value v ON v.load = l.id
  CROSS JOIN metric m ON m.run = p.run AND m.name = v.metric CROSS JOIN cells c ON c.cell = p.cell;
CREATE VIEW median_ranks AS
WITH RECURSIVE ranks(n, k, below, at) AS (
  VALUES (6, 1, 1 / 64.0, 1 / 64.0)
  UNION ALL
  SELECT n + 1,
    CASE WHEN below - at / 2 + at * (n + 1) / (2 * k) <= 0.025 THEN k + 1 ELSE k END,
    CASE WHEN below - at / 2 + at * (n + 1) / (2 * k) <= 0.025 THEN below - at / 2 + at * (n + 1) / (2 * k) ELSE below - at / 2 END,
    CASE WHEN below - at / 2 + at * (n + 1) / (2 * k) <= 0.025 THEN at * (n + 1) / (2 * k) ELSE at * (n + 1) / (2 * (n + 2 - k)) END
  FROM ranks WHERE n <= (SELECT max(repeat) FROM planned)
)
SELECT n, k FROM ranks;
CREATE VIEW medians AS
SELECT s.run, c.study, s.cell, s.metric, m.unit, s.n, s.median, s.low, s.high, s.least, s.most, c.site, c.protocol, c.network, c.loader, c.congestion, c.initcwnd, c.clock, c.visit, c.strategy, c.server, c.link_delay, c.loss, c.reconnections, c.session_load, c.tcp_window, c.client_window, c.server_window, c.hint, c.tls, c.tcp_sack, c.without, c.loss_direction, c.delay_variation, c.parallel, c.manager, c.rebinding, c.clients, c.activity
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
WHERE s.rank = 1;
CREATE VIEW ratios AS
WITH place(run, cell, others) AS MATERIALIZED (
  SELECT c.run, c.id, (SELECT group_concat(axis || '=' || value, ' ') FROM
    (SELECT axis, value FROM cell_value WHERE cell = c.id AND axis NOT IN ('protocol', 'transport') ORDER BY axis))
  FROM cell c
)
SELECT a.run, a.study, a.metric, a.unit, b.protocol AS baseline, a.median / nullif(b.median, 0) AS ratio,
  a.high < b.low OR a.low > b.high AS apart,
  a.cell, a.n, a.median, a.low, a.high,
  b.cell AS baseline_cell, b.n AS baseline_n, b.median AS baseline_median, b.low AS baseline_low, b.high AS baseline_high, a.site, a.protocol, a.network, a.loader, a.congestion, a.initcwnd, a.clock, a.visit, a.strategy, a.server, a.link_delay, a.loss, a.reconnections, a.session_load, a.tcp_window, a.client_window, a.server_window, a.hint, a.tls, a.tcp_sack, a.without, a.loss_direction, a.delay_variation, a.parallel, a.manager, a.rebinding, a.clients, a.activity
FROM place x JOIN place y ON y.run = x.run AND y.others = x.others AND y.cell <> x.cell
  JOIN medians a ON a.run = x.run AND a.cell = x.cell
  JOIN medians b ON b.run = a.run AND b.cell = y.cell AND b.metric = a.metric;
