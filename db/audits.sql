-- audits.sql - what cannot be found out again, version 1: verify runs, findings,
-- last results.  A file of its own, so that an index that is damaged
-- or made anew takes nothing of this with it.

CREATE TABLE runs (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	started_ns INTEGER NOT NULL,
	ended_ns INTEGER NOT NULL DEFAULT 0,
	scope TEXT NOT NULL,
	deep INTEGER NOT NULL,
	state INTEGER NOT NULL,
	models INTEGER NOT NULL DEFAULT 0,
	manifests INTEGER NOT NULL DEFAULT 0,
	blobs INTEGER NOT NULL DEFAULT 0,
	bytes INTEGER NOT NULL DEFAULT 0,
	errors INTEGER NOT NULL DEFAULT 0,
	warnings INTEGER NOT NULL DEFAULT 0,
	notes INTEGER NOT NULL DEFAULT 0,
	seconds REAL NOT NULL DEFAULT 0,
	message TEXT NOT NULL DEFAULT ''
);

CREATE TABLE findings (
	id INTEGER PRIMARY KEY,
	run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
	severity INTEGER NOT NULL,
	code TEXT NOT NULL,
	model TEXT NOT NULL,
	model_path TEXT NOT NULL,
	blob TEXT NOT NULL,
	tensor TEXT NOT NULL,
	offset INTEGER,
	expected TEXT NOT NULL,
	actual TEXT NOT NULL,
	message TEXT NOT NULL
);
CREATE INDEX findings_run ON findings(run, severity DESC);

-- The last result of a model, and the stamp of its files at that time.
CREATE TABLE verified (
	path TEXT PRIMARY KEY,
	run INTEGER NOT NULL,
	stamp INTEGER NOT NULL,
	errors INTEGER NOT NULL,
	when_ns INTEGER NOT NULL
) WITHOUT ROWID;

-- The last hash of a file, and what the file was then.
CREATE TABLE hashes (
	path TEXT PRIMARY KEY,
	dev INTEGER NOT NULL,
	ino INTEGER NOT NULL,
	size INTEGER NOT NULL,
	mtime_ns INTEGER NOT NULL,
	digest BLOB NOT NULL,
	ok INTEGER NOT NULL,
	when_ns INTEGER NOT NULL
) WITHOUT ROWID;
