-- schema.sql - the index.  All of it can be made again by a scan.
--
-- Made for 1,000,000 tensors over 60,000 files and 2,000 models: what is in a model is one
-- row of packed lists (12 MB instead of 80), written and searched many times faster than a
-- row a tensor.  Who asks with "tbtui sql" still sees the tables "tensors" and
-- "model_files": they are made from the lists when they are read (db/vtab.c).
--
-- Numbers of dtypes, kinds and media are those of the program's tables.  Numbers of names,
-- forms and files are never used twice (AUTOINCREMENT): what a list of them means does not
-- change behind the back of somebody who has read it.

CREATE TABLE roots (
	id INTEGER PRIMARY KEY,
	path TEXT NOT NULL UNIQUE,
	scanned_ns INTEGER NOT NULL DEFAULT 0,	-- end of the last whole scan
	whole INTEGER NOT NULL DEFAULT 0,	-- 0 while one runs or was interrupted
	-- sums of that scan, so that the first screen need not add up 60,000 files
	models INTEGER NOT NULL DEFAULT 0,
	tensors INTEGER NOT NULL DEFAULT 0,
	bytes INTEGER NOT NULL DEFAULT 0,
	blobs INTEGER NOT NULL DEFAULT 0,
	shared_bytes INTEGER NOT NULL DEFAULT 0,
	orphans INTEGER NOT NULL DEFAULT 0,
	orphan_bytes INTEGER NOT NULL DEFAULT 0,
	missing INTEGER NOT NULL DEFAULT 0,
	leftovers INTEGER NOT NULL DEFAULT 0,
	leftover_bytes INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE models (
	id INTEGER PRIMARY KEY,
	root INTEGER NOT NULL REFERENCES roots ON DELETE CASCADE,
	path TEXT NOT NULL UNIQUE,		-- manifest, directory or file
	kind INTEGER NOT NULL,
	name TEXT NOT NULL,
	arch TEXT NOT NULL,
	scheme TEXT NOT NULL,
	params INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	exclusive INTEGER NOT NULL DEFAULT 0,	-- bytes that only this model uses
	tensors INTEGER NOT NULL,
	files INTEGER NOT NULL,
	missing INTEGER NOT NULL,		-- files that are not there
	problems INTEGER NOT NULL,
	mtime_ns INTEGER NOT NULL,
	dir_ns INTEGER NOT NULL,		-- mtime of the folder itself, 0 for a file
	stamp INTEGER NOT NULL			-- of the identities of all files
);
CREATE INDEX models_root ON models(root);

CREATE TABLE problems (
	model INTEGER NOT NULL REFERENCES models ON DELETE CASCADE,
	ord INTEGER NOT NULL,
	message TEXT NOT NULL,
	PRIMARY KEY (model, ord)
) WITHOUT ROWID;

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

CREATE TABLE contents (			-- lists of numbers: db/pack.h
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
	FROM models m JOIN tensors t ON t.model = m.id JOIN files f ON f.id = t.file_id;

CREATE VIEW blob_list AS
	SELECT f.path, lower(hex(f.digest)) AS digest, f.size, f.missing, f.owners
	FROM files f WHERE f.digest IS NOT NULL;
