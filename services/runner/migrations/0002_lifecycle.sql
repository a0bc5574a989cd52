-- A lifecycle change of a session that is under way: nothing of the session begins while its row is
-- here. It outlives the process, because the registry may have committed a change whose answer was
-- lost: then the change is asked for again, word for word, under the same name.
CREATE TABLE fences (
    tenant      TEXT    NOT NULL,
    session_key TEXT    NOT NULL,
    -- `fenced` until everything is ready for the registry, then `committing`.
    stage       TEXT    NOT NULL,
    -- What the registry is asked to commit; the change's name is in it.
    packed      BLOB    NOT NULL,
    began_at    INTEGER NOT NULL,
    PRIMARY KEY (tenant, session_key)
) WITHOUT ROWID;

-- The newest epoch that a change gave a session. Work that was admitted under an older one comes
-- too late.
CREATE TABLE session_epochs (
    tenant      TEXT    NOT NULL,
    session_key TEXT    NOT NULL,
    work_epoch  INTEGER NOT NULL,
    PRIMARY KEY (tenant, session_key)
) WITHOUT ROWID;

-- A key names a run or a change of a session. A change's key is taken with its fence and gets its
-- answer when the fence goes. The columns of the first form cannot hold that, so the table is made
-- anew.
CREATE TABLE idempotency_with_changes (
    tenant      TEXT    NOT NULL,
    owner       TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    fingerprint TEXT    NOT NULL,
    run_id      TEXT,
    session_key TEXT,
    answer      BLOB,
    expires_at  INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, key),
    CHECK ((run_id IS NULL) <> (session_key IS NULL))
) WITHOUT ROWID;
INSERT INTO idempotency_with_changes (tenant, owner, key, fingerprint, run_id, expires_at)
    SELECT tenant, owner, key, fingerprint, run_id, expires_at FROM idempotency;
DROP TABLE idempotency;
ALTER TABLE idempotency_with_changes RENAME TO idempotency;
CREATE INDEX idempotency_expiry ON idempotency (expires_at);
CREATE INDEX idempotency_open ON idempotency (tenant, session_key)
    WHERE session_key IS NOT NULL AND answer IS NULL;

-- What a session still owes to channels, for the sweep.
CREATE INDEX deliveries_owed ON deliveries (tenant, session_key)
    WHERE state IN ('pending', 'sending');
