noinst_LIBRARIES += db/libdb.a
db_libdb_a_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
db_libdb_a_SOURCES = \
	db/aside.c \
	db/audit.h \
	db/audits.c \
	db/blob.h \
	db/blobs.c \
	db/blob_keys.c \
	db/blob_keys.h \
	db/chats.c \
	db/chats.h \
	db/chats_open.c \
	db/connect.c \
	db/copies.c \
	db/copies.h \
	db/copies_parts.h \
	db/copies_sums.c \
	db/db.h \
	db/dict.c \
	db/dict.h \
	db/facts.c \
	db/facts.h \
	db/finish.c \
	db/funcs.c \
	db/ids.c \
	db/ids.h \
	db/known.c \
	db/list.c \
	db/list.h \
	db/models.c \
	db/names.c \
	db/names.h \
	db/pack.c \
	db/pack.h \
	db/private.h \
	db/put.c \
	db/query.c \
	db/reader.c \
	db/run_files.c \
	db/run_files.h \
	db/schema.c \
	db/seal.c \
	db/search.c \
	db/stmt.c \
	db/stmt.h \
	db/sums.c \
	db/sums.h \
	db/tensors.c \
	db/tensors.h \
	db/usage.c \
	db/usage.h \
	db/vtab.c \
	db/write.h \
	db/writer.c

# The schemas are SQL files that anybody can read, and strings in the program.
sql_files = db/schema.sql db/audits.sql db/facts.sql db/states.sql db/seal.sql db/kept.sql db/sums.sql \
	db/resume.sql db/moved.sql db/chats.sql
BUILT_SOURCES += db/sql_strings.h
CLEANFILES += db/sql_strings.h
EXTRA_DIST += $(sql_files) db/sql.awk
db/libdb_a-schema.$(OBJEXT): db/sql_strings.h

db/sql_strings.h: $(sql_files) db/sql.awk
	$(AM_V_GEN)$(MKDIR_P) db && (cd $(srcdir) && awk -f db/sql.awk $(sql_files)) >$@.tmp && mv $@.tmp $@
