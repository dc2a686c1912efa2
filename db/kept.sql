-- kept.sql - step 5 of the audits: what a run saw of each model, so that a report of it
-- says what was checked.

ALTER TABLE runs ADD COLUMN program TEXT NOT NULL DEFAULT '';	-- that made it: "tbtui 1.0"
ALTER TABLE runs ADD COLUMN compared INTEGER NOT NULL DEFAULT 0;	-- files, with a digest

-- The files of a model, a line each: STATE DIGEST BYTES PATH.  Runs that saw the same share it.
CREATE TABLE file_lists (
	id INTEGER PRIMARY KEY,
	digest BLOB NOT NULL UNIQUE,		-- SHA-256 of the lines
	lines TEXT NOT NULL
);

ALTER TABLE run_models ADD COLUMN kind TEXT NOT NULL DEFAULT '';
ALTER TABLE run_models ADD COLUMN digest BLOB;		-- of the model; null: a file was not read
ALTER TABLE run_models ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run_models ADD COLUMN files INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run_models ADD COLUMN list INTEGER REFERENCES file_lists;

-- The stores that it looked into, and what lies there beside the models.
CREATE TABLE run_roots (
	run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
	path TEXT NOT NULL,
	away INTEGER NOT NULL,			-- it was not there
	orphans INTEGER NOT NULL,
	orphan_bytes INTEGER NOT NULL,
	rest INTEGER NOT NULL,			-- young, partial, left over, kept
	rest_bytes INTEGER NOT NULL,
	held INTEGER NOT NULL,			-- taken away, not yet freed
	held_bytes INTEGER NOT NULL,
	PRIMARY KEY (run, path)
) WITHOUT ROWID;
