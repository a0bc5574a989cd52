-- Notices of watched sessions. A notice waits here until a run of its watcher begins and takes it;
-- from then on the run's record shows it, and the row remembers to tell the registry so. What was
-- told is remembered for a while, because a stream that was opened before may bring it once more.
CREATE TABLE notices (
    notice_seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    notice_id       TEXT    NOT NULL UNIQUE,
    tenant          TEXT    NOT NULL,
    watcher         TEXT    NOT NULL,
    target          TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    -- Whether the watcher is woken for it; otherwise it comes with whatever runs next.
    wakes           INTEGER NOT NULL,
    -- The run it is part of; absent while it waits for one.
    run_id          TEXT,
    acknowledged_at INTEGER
);

-- One line for each watched session, whatever the code above does.
CREATE UNIQUE INDEX notices_waiting ON notices (tenant, watcher, target) WHERE run_id IS NULL;
CREATE INDEX notices_waking ON notices (tenant, watcher, notice_seq)
    WHERE run_id IS NULL AND wakes = 1;
CREATE INDEX notices_owed ON notices (notice_seq)
    WHERE run_id IS NOT NULL AND acknowledged_at IS NULL;
CREATE INDEX notices_told ON notices (acknowledged_at) WHERE acknowledged_at IS NOT NULL;

-- The lines a run was given when it first began, a JSON list; absent where there were none.
ALTER TABLE runs ADD COLUMN notices TEXT;
