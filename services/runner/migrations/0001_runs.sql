-- Runs are the queue, the record and the lease in one row. `packed` is the run as it was accepted;
-- what changes later has columns of its own, so that a claim is one statement.
CREATE TABLE runs (
    queue_seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id        TEXT    NOT NULL UNIQUE,
    tenant        TEXT    NOT NULL,
    session_key   TEXT    NOT NULL,
    agent_id      TEXT    NOT NULL,
    flow_id       TEXT    NOT NULL,
    step_id       TEXT    NOT NULL,
    priority      INTEGER NOT NULL,
    store_input   INTEGER NOT NULL,
    packed        BLOB    NOT NULL,
    created_at    INTEGER NOT NULL,
    state         TEXT    NOT NULL,
    session_id    TEXT,
    attempts      INTEGER NOT NULL DEFAULT 0,
    ordinal       INTEGER NOT NULL DEFAULT 0,
    started_at    INTEGER,
    ended_at      INTEGER,
    -- One while the run keeps its session to itself: from the claim until its reply is in the
    -- transcript, which can be later than its end.
    holds_session INTEGER NOT NULL DEFAULT 0,
    -- Rises with every claim; a write that names an older one comes from a lost lease.
    lease_epoch   INTEGER NOT NULL DEFAULT 0,
    lease_until   INTEGER,
    -- The script rule this run hit, so that `times` counts runs and not attempts.
    script_rule   INTEGER,
    -- The span that the work belongs to, so that a trace goes on after its caller has left.
    trace_parent  TEXT,
    result        TEXT
);

-- One run at a time in a session, whatever the code above does.
CREATE UNIQUE INDEX runs_holder ON runs (tenant, session_key) WHERE holds_session = 1;
CREATE INDEX runs_queue ON runs (tenant, session_key, priority, queue_seq) WHERE state = 'queued';
CREATE INDEX runs_waiting ON runs (created_at) WHERE state = 'queued';
CREATE INDEX runs_ordinal ON runs (tenant, session_key, ordinal);
CREATE INDEX runs_flow ON runs (flow_id, queue_seq);
CREATE INDEX runs_newest ON runs (tenant, created_at, run_id);
CREATE INDEX runs_newest_of_session ON runs (tenant, session_key, created_at, run_id);
CREATE INDEX runs_rule ON runs (tenant, agent_id, script_rule) WHERE script_rule IS NOT NULL;

-- `terms` never changes; `packed` is the record as people see it, written with every event.
CREATE TABLE flows (
    flow_id    TEXT    PRIMARY KEY,
    tenant     TEXT    NOT NULL,
    requester  TEXT,
    target     TEXT    NOT NULL,
    terms      TEXT    NOT NULL,
    packed     BLOB    NOT NULL,
    created_at INTEGER NOT NULL
);
CREATE INDEX flows_newest ON flows (tenant, created_at, flow_id);
CREATE INDEX flows_newest_of_target ON flows (tenant, target, created_at, flow_id);
CREATE INDEX flows_newest_of_requester ON flows (tenant, requester, created_at, flow_id)
    WHERE requester IS NOT NULL;

-- The journal: what happened to a flow, in order.
CREATE TABLE flow_events (
    flow_id     TEXT    NOT NULL REFERENCES flows (flow_id),
    seq         INTEGER NOT NULL,
    event       TEXT    NOT NULL,
    happened_at INTEGER NOT NULL,
    PRIMARY KEY (flow_id, seq)
) WITHOUT ROWID;

CREATE TABLE deliveries (
    delivery_id     TEXT    PRIMARY KEY,
    tenant          TEXT    NOT NULL,
    flow_id         TEXT    NOT NULL,
    session_key     TEXT    NOT NULL,
    channel         TEXT    NOT NULL,
    state           TEXT    NOT NULL,
    next_attempt_at INTEGER,
    packed          BLOB    NOT NULL,
    created_at      INTEGER NOT NULL
);
CREATE INDEX deliveries_due ON deliveries (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX deliveries_open ON deliveries (state) WHERE state IN ('pending', 'sending');
CREATE INDEX deliveries_flow ON deliveries (flow_id, created_at);
CREATE INDEX deliveries_newest ON deliveries (tenant, created_at, delivery_id);

-- A caller's own names for its mutating calls, and what they were answered with (D36).
CREATE TABLE idempotency (
    tenant      TEXT    NOT NULL,
    owner       TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    fingerprint TEXT    NOT NULL,
    run_id      TEXT    NOT NULL,
    expires_at  INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_expiry ON idempotency (expires_at);

-- What the registry must still be told; a row goes when it has been.
CREATE TABLE activity (
    seq    INTEGER PRIMARY KEY AUTOINCREMENT,
    packed BLOB    NOT NULL
);
