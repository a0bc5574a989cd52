-- A session's row, and every generation of its transcript.
--
-- What a list filters, orders or looks up by has a column; the row itself is one packed value,
-- because reading forty columns costs ten times as much as reading one.

CREATE TABLE sessions (
    tenant            TEXT    NOT NULL,
    key               TEXT    NOT NULL,
    session_id        TEXT    NOT NULL,
    -- The agent whose session it is; the one session that serves all counts as agent main's.
    agent_id          TEXT    NOT NULL,
    kind              TEXT    NOT NULL,
    -- 0: open, 1: archived, 2: never listed (the session of one run of a scheduled job).
    shelf             INTEGER NOT NULL,
    label             TEXT,
    spawned_by        TEXT,
    -- Milliseconds since the epoch; 0 where the session is not pinned, so that every row has a place
    -- in the order of the list.
    pinned_at         INTEGER NOT NULL,
    archived_at       INTEGER,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    row_version       INTEGER NOT NULL,
    work_epoch        INTEGER NOT NULL,
    -- When the last run shown was seen as it is shown, and when and by which run the route was set:
    -- a record that is older changes neither.
    last_run_at       INTEGER,
    routed_at         INTEGER,
    routed_by         TEXT,
    -- What a search looks through, folded to lower case.
    search            TEXT    NOT NULL,
    packed            BLOB    NOT NULL,
    PRIMARY KEY (tenant, key)
);

-- The order of the list (D54): pinned first, then the last to move, then the last to be made.
CREATE INDEX sessions_listed
    ON sessions (tenant, shelf, pinned_at DESC, updated_at DESC, created_at DESC, key DESC);

-- The same for the sessions of one agent.
CREATE INDEX sessions_listed_by_agent
    ON sessions (tenant, shelf, agent_id, pinned_at DESC, updated_at DESC, created_at DESC, key DESC);

-- Which agents have sessions.
CREATE INDEX sessions_by_agent ON sessions (tenant, agent_id);

-- A label is unique within its agent; it is looked up over all agents too.
CREATE UNIQUE INDEX sessions_by_label ON sessions (tenant, label, agent_id) WHERE label IS NOT NULL;

CREATE UNIQUE INDEX sessions_by_session_id ON sessions (tenant, session_id);

CREATE INDEX sessions_by_spawner ON sessions (tenant, spawned_by) WHERE spawned_by IS NOT NULL;

-- Every generation a key has had: an old sessionId stays readable (D26).
CREATE TABLE session_ids (
    tenant     TEXT NOT NULL,
    session_id TEXT NOT NULL,
    key        TEXT NOT NULL,
    PRIMARY KEY (tenant, session_id)
);
