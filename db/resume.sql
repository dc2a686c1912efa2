-- resume.sql - step 7 of the audits: a run that was interrupted is gone on with.

ALTER TABLE hashes ADD COLUMN run INTEGER NOT NULL DEFAULT 0;	-- that has found it so
ALTER TABLE runs ADD COLUMN resumes INTEGER NOT NULL DEFAULT 0;	-- the run that it goes on with
ALTER TABLE runs ADD COLUMN resumed INTEGER NOT NULL DEFAULT 0;	-- files found good then
ALTER TABLE runs ADD COLUMN resumed_bytes INTEGER NOT NULL DEFAULT 0;
