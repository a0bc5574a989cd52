-- Full-text search: an index over what may be read of the messages, and how far it goes.
--
-- The index keeps no texts, only words and where they stand; its rows have the numbers of the rows of
-- messages, which are never changed or deleted, so both only grow at their ends. The words are cut and
-- folded by the program, which is why the simplest tokeniser will do: they are separated by blanks.
-- The tenant is one more word, so that a search walks through the messages of its own tenant only.

CREATE VIRTUAL TABLE search_index USING fts5 (tenant, body, content = '', tokenize = 'ascii');

-- One row. When the rules by which texts are cleaned are others than these, the index is built anew.
CREATE TABLE search_state (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    rules    TEXT    NOT NULL,
    -- The last row of messages that is in the index, or that was passed over.
    indexed  INTEGER NOT NULL
);

INSERT INTO search_state (only_row, rules, indexed) VALUES (1, '', 0);
