-- sums.sql - step 6 of the audits: where bytes are wrong.
--
-- Sums of the pieces of a file (src/base/sums.h), by the SHA-256 of all of it: the same for
-- whatever files have those bytes.  They are kept while a file should have them.

CREATE TABLE sums (
	digest BLOB PRIMARY KEY,
	pieces BLOB NOT NULL			-- as tb_sums_pack() writes them
);
CREATE INDEX hashes_digest ON hashes(digest);

ALTER TABLE findings ADD COLUMN bytes INTEGER;		-- that are wrong, from offset on; null: not known
ALTER TABLE findings ADD COLUMN rows TEXT NOT NULL DEFAULT '';	-- of the tensor: "rows 5 to 9"
CREATE INDEX findings_places ON findings(blob) WHERE bytes IS NOT NULL;
