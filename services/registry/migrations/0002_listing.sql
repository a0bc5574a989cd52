-- A list reads its page and nothing else, whatever it is filtered by.
--
-- Each index ends in the order of the list (D54), so a filter is a few ranges of an index that are
-- merged.

DROP INDEX sessions_by_spawner;

CREATE INDEX sessions_by_kind
    ON sessions (tenant, shelf, kind, pinned_at DESC, updated_at DESC, created_at DESC, key DESC);

CREATE INDEX sessions_by_agent_and_kind
    ON sessions (tenant, shelf, agent_id, kind,
                 pinned_at DESC, updated_at DESC, created_at DESC, key DESC);

-- What a session spawned, in the order of the list; with the columns that narrow a family, so that
-- these need no row.
CREATE INDEX sessions_by_spawner
    ON sessions (tenant, spawned_by, shelf,
                 pinned_at DESC, updated_at DESC, created_at DESC, key DESC, agent_id, kind)
    WHERE spawned_by IS NOT NULL;

-- 1 where a session has spawned another. Most have not, and following spawns passes those by: a
-- family of a thousand children of one parent is one step, not a thousand.
ALTER TABLE sessions ADD COLUMN spawner INTEGER NOT NULL DEFAULT 0;

UPDATE sessions SET spawner = 1
    WHERE EXISTS (SELECT 1 FROM sessions AS child
                  WHERE child.tenant = sessions.tenant AND child.spawned_by = sessions.key);

CREATE INDEX sessions_spawning ON sessions (tenant, spawned_by, key) WHERE spawner = 1;

-- Whatever writes a row, the column is right: a key that was deleted and made again has the children
-- it had.
CREATE TRIGGER sessions_spawner_of_new AFTER INSERT ON sessions
BEGIN
    UPDATE sessions SET spawner = 1
        WHERE tenant = NEW.tenant AND key = NEW.spawned_by AND spawner = 0;
    UPDATE sessions SET spawner = 1
        WHERE tenant = NEW.tenant AND key = NEW.key
          AND EXISTS (SELECT 1 FROM sessions AS child
                      WHERE child.tenant = NEW.tenant AND child.spawned_by = NEW.key);
END;

CREATE TRIGGER sessions_spawner_of_changed AFTER UPDATE OF spawned_by ON sessions
WHEN NEW.spawned_by IS NOT NULL AND NEW.spawned_by IS NOT OLD.spawned_by
BEGIN
    UPDATE sessions SET spawner = 1
        WHERE tenant = NEW.tenant AND key = NEW.spawned_by AND spawner = 0;
END;
