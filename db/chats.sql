-- chats.sql - conversations that are kept: chats.db beside the index, for its user alone.
--
-- A turn is never overwritten: what was said otherwise is another child of the same parent.
-- An answer on its way is a row with finished = 0, which is written again as it grows.

CREATE TABLE chats (
	id INTEGER PRIMARY KEY AUTOINCREMENT,	-- a number means one chat for ever
	title TEXT NOT NULL,
	named INTEGER NOT NULL DEFAULT 0,	-- by the person: it stays whatever is said
	model TEXT NOT NULL,			-- who answers, as people call it
	ref TEXT NOT NULL,			-- and what opens it
	weights TEXT NOT NULL DEFAULT '',	-- a digest that tells them from others
	system TEXT,
	settings TEXT NOT NULL DEFAULT '{}',	-- a JSON object
	leaf INTEGER NOT NULL DEFAULT 0,	-- turns.n; 0: nothing was said
	turns INTEGER NOT NULL DEFAULT 0,	-- how many there are, in all branches
	from_chat INTEGER NOT NULL DEFAULT 0,	-- a copy of that one, up to that turn
	from_turn INTEGER NOT NULL DEFAULT 0,
	created_ns INTEGER NOT NULL,
	updated_ns INTEGER NOT NULL,
	removed_ns INTEGER NOT NULL DEFAULT 0	-- 0: it is not in the trash
);
CREATE INDEX chats_updated ON chats(updated_ns);

CREATE TABLE turns (
	id INTEGER PRIMARY KEY,
	chat INTEGER NOT NULL REFERENCES chats ON DELETE CASCADE,
	n INTEGER NOT NULL,			-- from 1
	parent INTEGER NOT NULL,		-- n of the turn before, less than this one's; 0: none
	role TEXT NOT NULL,
	content TEXT NOT NULL,
	thinking TEXT,
	tool_calls TEXT,			-- JSON
	tool_name TEXT,
	tool_call_id TEXT,
	model TEXT,
	stop TEXT NOT NULL DEFAULT '',
	figures TEXT NOT NULL DEFAULT '{}',	-- a JSON object
	finished INTEGER NOT NULL,
	created_ns INTEGER NOT NULL,
	UNIQUE (chat, n)
);

-- What the model had read when the last answer was finished, and how.
CREATE TABLE readings (
	chat INTEGER PRIMARY KEY REFERENCES chats ON DELETE CASCADE,
	reading BLOB NOT NULL
);

CREATE VIRTUAL TABLE words USING fts5(content, content = 'turns', content_rowid = 'id',
	tokenize = 'unicode61 remove_diacritics 2');
CREATE TRIGGER turns_new AFTER INSERT ON turns BEGIN
	INSERT INTO words(rowid, content) VALUES (new.id, new.content);
END;
CREATE TRIGGER turns_grown AFTER UPDATE OF content ON turns WHEN old.content <> new.content BEGIN
	INSERT INTO words(words, rowid, content) VALUES ('delete', old.id, old.content);
	INSERT INTO words(rowid, content) VALUES (new.id, new.content);
END;
CREATE TRIGGER turns_gone AFTER DELETE ON turns BEGIN
	INSERT INTO words(words, rowid, content) VALUES ('delete', old.id, old.content);
END;
