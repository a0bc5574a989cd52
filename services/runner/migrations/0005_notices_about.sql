-- A session that is deleted takes with it what others were still to be told of it.
CREATE INDEX notices_about ON notices (tenant, target) WHERE run_id IS NULL;
