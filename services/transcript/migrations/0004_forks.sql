-- Forks that were made, so that a repetition of the call meets the first answer.

CREATE TABLE forks (
    tenant          TEXT    NOT NULL,
    -- Who called, and the key that the call was given.
    owner           TEXT    NOT NULL,
    idempotency_key TEXT    NOT NULL,
    -- What was asked for.
    fingerprint     TEXT    NOT NULL,
    messages        INTEGER NOT NULL,
    forked_at       INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, idempotency_key)
);

-- Calls are forgotten after a day.
CREATE INDEX forks_by_age ON forks (tenant, forked_at);
