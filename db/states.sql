-- states.sql - step 3 of the audits: how far a verify looked.
--
-- A state is a number of DB_STATE_LIST (db/db.h).  What was verified before this step
-- keeps damage; whether its bytes were compared with anything is not known.

ALTER TABLE runs ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;		-- files found good before
ALTER TABLE runs ADD COLUMN recorded INTEGER NOT NULL DEFAULT 0;	-- read, nothing to compare with
ALTER TABLE runs ADD COLUMN since_ns INTEGER NOT NULL DEFAULT 0;	-- skip what was good since then

ALTER TABLE verified ADD COLUMN state INTEGER NOT NULL DEFAULT 2;
UPDATE verified SET state = 5 WHERE errors > 0;

-- The models that a run looked at to its end.
CREATE TABLE run_models (
	run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
	path TEXT NOT NULL,
	name TEXT NOT NULL,
	state INTEGER NOT NULL,
	PRIMARY KEY (run, path)
) WITHOUT ROWID;
