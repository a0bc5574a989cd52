-- What changes rows, beside what runs do: patches and lifecycle changes, and what maintenance looks
-- for.

-- A caller's own names for its patches, and what they were answered with (D36).
CREATE TABLE idempotency (
    tenant      TEXT    NOT NULL,
    owner       TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    fingerprint TEXT    NOT NULL,
    changed     INTEGER NOT NULL,
    packed      BLOB    NOT NULL,
    state_version INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_expiry ON idempotency (expires_at);

-- Lifecycle changes by the name that whoever decided them gave, with their answers: one that is
-- committed again after a crash meets its first answer. They outlive the row, because a deletion is
-- repeated like any other change; its answer has no row.
CREATE TABLE lifecycle_changes (
    tenant     TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    change_id  TEXT    NOT NULL,
    change     TEXT    NOT NULL,
    changed    INTEGER NOT NULL,
    packed     BLOB,
    state_version INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, key, change_id)
) WITHOUT ROWID;
CREATE INDEX lifecycle_changes_expiry ON lifecycle_changes (expires_at);

-- Keys whose session was deleted, and the epoch at which a new session under the key begins: work
-- that was authorised for the deleted one must not fit the new one.
CREATE TABLE retired (
    tenant     TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    work_epoch INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
) WITHOUT ROWID;

-- When the session of the generation was deleted. Its transcript is an archive from then on: a new
-- session under the same key must not lead to it, and no other generation may take its sessionId.
ALTER TABLE session_ids ADD COLUMN retired_at INTEGER;
CREATE INDEX session_ids_by_key ON session_ids (tenant, key);

-- When an archived session was last opened again.
ALTER TABLE sessions ADD COLUMN reopened_at INTEGER;

-- Since when a session that was spawned for one task is open without need (D44); absent elsewhere.
ALTER TABLE sessions ADD COLUMN done_at INTEGER;

-- Whether maintenance may remove it (reg:X5, reg:X6). Whoever reads the column judges the row again,
-- so rows that were written before it existed may begin as candidates.
ALTER TABLE sessions ADD COLUMN removable INTEGER NOT NULL DEFAULT 1;

CREATE INDEX sessions_done ON sessions (done_at, tenant, key) WHERE done_at IS NOT NULL;
CREATE INDEX sessions_removable ON sessions (updated_at, tenant, key) WHERE removable = 1;
CREATE INDEX sessions_removable_by_tenant ON sessions (tenant, updated_at, key) WHERE removable = 1;
