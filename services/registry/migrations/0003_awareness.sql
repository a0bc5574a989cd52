-- What happened to sessions, who must be told, and the order in which rows changed.
--
-- The head of a session's log stands in its row, so that it survives the log's pruning and goes with
-- the session.

ALTER TABLE sessions ADD COLUMN state_version   INTEGER NOT NULL DEFAULT 0;
-- The highest sequence that was pruned from the session's log; 0 where none was.
ALTER TABLE sessions ADD COLUMN pruned_sequence INTEGER NOT NULL DEFAULT 0;
-- The place of the row's last change among the changes of all rows.
ALTER TABLE sessions ADD COLUMN change_seq      INTEGER NOT NULL DEFAULT 0;

CREATE INDEX sessions_by_change ON sessions (tenant, change_seq);

-- The log of all sessions. AUTOINCREMENT, because a sequence is never given twice, also after the
-- newest events are gone.
CREATE TABLE state_events (
    sequence    INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant      TEXT    NOT NULL,
    session_key TEXT    NOT NULL,
    session_id  TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    actor_type  TEXT    NOT NULL,
    actor_id    TEXT,
    run_id      TEXT,
    -- Milliseconds since the epoch: when it happened, and when it was written down, which is what
    -- its age is counted from.
    occurred_at INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    summary     TEXT    NOT NULL,
    outcome     TEXT,
    dedupe_key  TEXT
);

CREATE INDEX state_events_by_session ON state_events (tenant, session_key, sequence);

CREATE INDEX state_events_by_age ON state_events (recorded_at);

CREATE UNIQUE INDEX state_events_once ON state_events (tenant, session_key, dedupe_key)
    WHERE dedupe_key IS NOT NULL;

-- Where each watcher stands in the log of each session it watches.
CREATE TABLE watch_cursors (
    tenant     TEXT    NOT NULL,
    watcher    TEXT    NOT NULL,
    target     TEXT    NOT NULL,
    last_seen  INTEGER NOT NULL,
    notified   INTEGER NOT NULL,
    material   INTEGER NOT NULL,
    -- The place of the notice owed among all notices; 0 where none is.
    notice     INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, watcher, target)
);

CREATE INDEX watch_cursors_by_target ON watch_cursors (tenant, target, watcher);

CREATE INDEX watch_cursors_owed ON watch_cursors (notice) WHERE notice > 0;

CREATE INDEX watch_cursors_by_age ON watch_cursors (updated_at);

-- Sessions that are gone, for those who follow changes.
CREATE TABLE deleted_sessions (
    tenant     TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    change_seq INTEGER NOT NULL,
    deleted_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX deleted_sessions_by_change ON deleted_sessions (tenant, change_seq);

CREATE INDEX deleted_sessions_by_age ON deleted_sessions (deleted_at);

-- Where a tenant's deletions are kept from: whoever has followed to an earlier change may miss some.
CREATE TABLE change_floors (
    tenant TEXT    NOT NULL PRIMARY KEY,
    floor  INTEGER NOT NULL
);

-- The last change of a row, the last notice owed, and when old records were last looked for.
CREATE TABLE counters (
    name  TEXT    NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
);

INSERT INTO counters (name, value) VALUES ('change', 0), ('notice', 0), ('pruned_at', 0);

-- Names this database among all others: a place in its changes means nothing elsewhere.
CREATE TABLE database_identity (id TEXT NOT NULL);

INSERT INTO database_identity (id) VALUES (lower(hex(randomblob(16))));
