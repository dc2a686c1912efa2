-- seal.sql - step 4 of the audits: what the index was when the last scan ended (db/seal.c).

CREATE TABLE seal (
	digest BLOB NOT NULL			-- of the file; no row: it is being written
);
