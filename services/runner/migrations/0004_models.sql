-- The session's own model, for a run that found its session only when it began. A run whose flow
-- knew the session has the model in `packed`, as it was accepted.
ALTER TABLE runs ADD COLUMN model TEXT;
