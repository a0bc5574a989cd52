-- Lines of imported files, for the export alone: entries that are no messages of the conversation, and
-- the wording of messages that would not come out again as they came in. Bytes of pictures are not in
-- them: a reference stands where they were.

CREATE TABLE originals (
    -- Grows with every line that is kept: an export reads up to the one it found when it began.
    number     INTEGER PRIMARY KEY,
    tenant     TEXT    NOT NULL,
    session_id TEXT    NOT NULL,
    -- Names the entry within its session: the same name again is the same entry.
    name       TEXT    NOT NULL,
    -- The message it stands for (place 0) or stands behind (place 1 up); 0: before every message.
    after_seq  INTEGER NOT NULL,
    place      INTEGER NOT NULL,
    -- Whether the entries behind it hang on it.
    on_branch  INTEGER NOT NULL,
    line       TEXT    NOT NULL
);

CREATE UNIQUE INDEX originals_by_name ON originals (tenant, session_id, name);

CREATE UNIQUE INDEX originals_in_order ON originals (tenant, session_id, after_seq, place);
