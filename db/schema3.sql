-- schema3.sql - step 3: what is in a model as a few packed columns instead of a row a
-- tensor and a row a file.
--
-- A million tensors over 2,000 models are 2,000 rows here, 12 MB instead of 80, and are
-- written and searched many times faster.  The columns are lists of numbers (db/pack.h).
-- Who asks with "tbtui sql" still sees the tables "tensors" and "model_files": they are
-- made from the columns when they are read (db/vtab.c).
--
-- Everything here can be made again: models stay listed, and look changed to a scan.

DROP VIEW tensor_list;
DROP VIEW blob_list;
DROP TRIGGER names_added;
DROP TRIGGER names_dropped;
DROP TABLE names_fts;
DROP TABLE tensors;
DROP TABLE model_files;
DROP TABLE schemes;
DROP TABLE names;
DROP TABLE files;
UPDATE models SET mtime_ns = 0;
UPDATE roots SET whole = 0;

-- Numbers are never used twice (AUTOINCREMENT): what a list of them means does not change
-- behind the back of somebody who has read it.
CREATE TABLE names (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL
);
CREATE TABLE forms (			-- what tensors are, but for their names and places
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	scheme TEXT NOT NULL,
	dtype INTEGER NOT NULL,		-- of the stored weight
	shape TEXT NOT NULL,		-- logical: "4096,11008"
	elems INTEGER NOT NULL,
	bytes INTEGER NOT NULL		-- with scales and biases
);
CREATE TABLE files (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	root INTEGER NOT NULL REFERENCES roots ON DELETE CASCADE,
	path TEXT NOT NULL UNIQUE,
	kind INTEGER NOT NULL,
	digest BLOB,				-- 32 bytes, as the name or the layout has it
	dev INTEGER NOT NULL,
	ino INTEGER NOT NULL,
	size INTEGER NOT NULL,			-- of a missing file: as the manifest states it
	mtime_ns INTEGER NOT NULL,
	missing INTEGER NOT NULL,
	media TEXT NOT NULL DEFAULT '',		-- what the first manifest calls it: "tensor"
	owners INTEGER NOT NULL DEFAULT 0	-- models that use it, at the last whole scan
);
CREATE INDEX files_root ON files(root, kind);
CREATE INDEX files_digest ON files(digest);
CREATE INDEX files_inode ON files(ino, dev);

CREATE TABLE contents (
	model INTEGER PRIMARY KEY REFERENCES models ON DELETE CASCADE,
	-- a number a tensor, in natural order of names:
	names BLOB NOT NULL,		-- names.id
	forms BLOB NOT NULL,		-- forms.id
	places BLOB NOT NULL,		-- position in the list of files
	offsets BLOB NOT NULL,		-- in that file
	-- a number a file, in order of the manifest:
	files BLOB NOT NULL		-- files.id
);

CREATE VIEW tensor_list AS
	SELECT m.name AS model, t.name AS tensor, t.scheme, t.shape, t.elems, t.bytes,
		f.path AS file, t.off AS offset
	FROM models m JOIN tensors t ON t.model = m.id
		JOIN model_files mf ON mf.model = t.model AND mf.ord = t.file
		JOIN files f ON f.id = mf.file;

CREATE VIEW blob_list AS
	SELECT f.path, lower(hex(f.digest)) AS digest, f.size, f.missing, f.owners
	FROM files f WHERE f.digest IS NOT NULL;
