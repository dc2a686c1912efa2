-- schema.sql - the index, as its first version has it.  All of it can be made again by a scan.
--
-- Made for 1,000,000 tensors over 60,000 files: a tensor's name is stored once
-- for all models, its shape as text, its file by position in the model.  Numbers
-- of dtypes, kinds and media are those of the program's tables; the views spell
-- them out where people ask with "tbtui sql".

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

CREATE TABLE files (
	id INTEGER PRIMARY KEY,
	root INTEGER NOT NULL REFERENCES roots ON DELETE CASCADE,
	path TEXT NOT NULL UNIQUE,
	kind INTEGER NOT NULL,
	digest BLOB,				-- 32 bytes, as the name or the layout has it
	dev INTEGER NOT NULL,
	ino INTEGER NOT NULL,
	size INTEGER NOT NULL,			-- of a missing file: as the manifest states it
	mtime_ns INTEGER NOT NULL,
	missing INTEGER NOT NULL,
	owners INTEGER NOT NULL DEFAULT 0	-- models that use it, at the last whole scan
);
CREATE INDEX files_root ON files(root, kind);
CREATE INDEX files_digest ON files(digest);
CREATE INDEX files_inode ON files(ino, dev);

CREATE TABLE model_files (
	model INTEGER NOT NULL REFERENCES models ON DELETE CASCADE,
	ord INTEGER NOT NULL,			-- order of the manifest
	file INTEGER NOT NULL REFERENCES files ON DELETE CASCADE,
	media TEXT NOT NULL,
	name TEXT NOT NULL,
	PRIMARY KEY (model, ord)
) WITHOUT ROWID;
CREATE INDEX model_files_file ON model_files(file);

CREATE TABLE problems (
	model INTEGER NOT NULL REFERENCES models ON DELETE CASCADE,
	ord INTEGER NOT NULL,
	message TEXT NOT NULL,
	PRIMARY KEY (model, ord)
) WITHOUT ROWID;

CREATE TABLE schemes (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE
);

CREATE TABLE names (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE
);
CREATE VIRTUAL TABLE names_fts USING fts5(
	name, content='names', content_rowid='id', tokenize='trigram', detail=none, columnsize=0
);
CREATE TRIGGER names_added AFTER INSERT ON names BEGIN
	INSERT INTO names_fts(rowid, name) VALUES (new.id, new.name);
END;
CREATE TRIGGER names_dropped AFTER DELETE ON names BEGIN
	INSERT INTO names_fts(names_fts, rowid, name) VALUES ('delete', old.id, old.name);
END;

CREATE TABLE tensors (
	model INTEGER NOT NULL REFERENCES models ON DELETE CASCADE,
	ord INTEGER NOT NULL,			-- natural order of names
	name INTEGER NOT NULL REFERENCES names,
	scheme INTEGER NOT NULL,		-- schemes.id
	dtype INTEGER NOT NULL,			-- of the stored weight
	shape TEXT NOT NULL,			-- logical: "4096,11008"
	elems INTEGER NOT NULL,
	bytes INTEGER NOT NULL,			-- with scales and biases
	file INTEGER NOT NULL,			-- model_files.ord
	off INTEGER NOT NULL,
	PRIMARY KEY (model, ord)
) WITHOUT ROWID;
-- tensors(name) is indexed, too; db/known.c makes and drops that index.

CREATE VIEW tensor_list AS
	SELECT m.name AS model, n.name AS tensor, s.name AS scheme, t.shape, t.elems, t.bytes,
		f.path AS file, t.off AS offset
	FROM tensors t JOIN models m ON m.id = t.model JOIN names n ON n.id = t.name
		JOIN schemes s ON s.id = t.scheme
		JOIN model_files mf ON mf.model = t.model AND mf.ord = t.file
		JOIN files f ON f.id = mf.file;

CREATE VIEW blob_list AS
	SELECT f.path, lower(hex(f.digest)) AS digest, f.size, f.missing,
		f.owners
	FROM files f WHERE f.digest IS NOT NULL;
