-- facts.sql - step 2 of the audits: what was computed about single tensors.
--
-- A row holds as long as `stamp`, of the files that the tensor's parts are in, is what
-- it was; `model_stamp` is that of all files of the model, which models.stamp of
-- the index can be compared with.

CREATE TABLE fact_models (
	id INTEGER PRIMARY KEY,
	path TEXT NOT NULL UNIQUE		-- models.path
);

CREATE TABLE facts (
	model INTEGER NOT NULL REFERENCES fact_models ON DELETE CASCADE,
	tensor TEXT NOT NULL,
	stamp INTEGER NOT NULL,
	model_stamp INTEGER NOT NULL,
	stats_ns INTEGER,			-- when; null: there are no statistics
	elems INTEGER,
	zeros INTEGER,
	nans INTEGER,
	infs INTEGER,
	first_nan INTEGER,			-- -1: none
	first_inf INTEGER,
	min REAL,				-- of the finite values, as all that follows
	max REAL,
	absmax REAL,
	mean REAL,
	std REAL,
	sketch BLOB,				-- quantiles and histogram
	digest_ns INTEGER,			-- when; null: there is no digest
	digest BLOB,				-- 32 bytes
	PRIMARY KEY (model, tensor)
) WITHOUT ROWID;
CREATE INDEX facts_digest ON facts(digest) WHERE digest IS NOT NULL;
