-- moved.sql - step 8 of the audits: what a file was is found by its inode, too, when its name
-- is another one now.

CREATE INDEX hashes_by_inode ON hashes (ino, dev);
