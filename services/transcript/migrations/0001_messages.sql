-- The messages of every session, and where each session's transcript ends.
--
-- Whether a message is shown is decided when it is appended, so each row carries how many shown
-- messages there are up to it: in the view with tool messages (count_all) and in the one without
-- (count_plain). A page at any depth is then a range of an index.

CREATE TABLE messages (
    tenant      TEXT    NOT NULL,
    session_id  TEXT    NOT NULL,
    -- Its place in its session, from 1, without gaps.
    seq         INTEGER NOT NULL,
    message_id  TEXT    NOT NULL,
    -- The appender's own name for it: the same name again is the same message.
    key         TEXT    NOT NULL,
    said_at     INTEGER NOT NULL,
    in_all      INTEGER NOT NULL,
    count_all   INTEGER NOT NULL,
    in_plain    INTEGER NOT NULL,
    count_plain INTEGER NOT NULL,
    packed      BLOB    NOT NULL,
    PRIMARY KEY (tenant, session_id, seq)
);

CREATE UNIQUE INDEX messages_by_key ON messages (tenant, session_id, key);

CREATE UNIQUE INDEX messages_shown_all
    ON messages (tenant, session_id, count_all) WHERE in_all = 1;

CREATE UNIQUE INDEX messages_shown_plain
    ON messages (tenant, session_id, count_plain) WHERE in_plain = 1;

-- One row a transcript: what an append has to know, so that it reads one row and not the messages.
CREATE TABLE heads (
    tenant         TEXT    NOT NULL,
    session_id     TEXT    NOT NULL,
    last_seq       INTEGER NOT NULL,
    count_all      INTEGER NOT NULL,
    count_plain    INTEGER NOT NULL,
    -- The first message of a person, for titles.
    first_user_seq INTEGER,
    PRIMARY KEY (tenant, session_id)
);
