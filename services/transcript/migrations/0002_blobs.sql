-- Pictures, where a compaction stands, and whose transcript it is.
--
-- The bytes of a picture are kept once a tenant under a name that follows from them, so that a page of
-- messages reads none of them.

CREATE TABLE blobs (
    tenant    TEXT NOT NULL,
    reference TEXT NOT NULL,
    bytes     BLOB NOT NULL,
    PRIMARY KEY (tenant, reference)
);

-- The marker of the last compaction: of all, and up to each message, so that a walk that is pinned to
-- one keeps its view while the agent compacts again.
ALTER TABLE heads ADD COLUMN compaction_seq INTEGER;
ALTER TABLE messages ADD COLUMN compaction_seq INTEGER;

-- The session's key: what a search is narrowed by. Absent where no append told it yet.
ALTER TABLE heads ADD COLUMN session_key TEXT;
