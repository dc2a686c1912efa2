noinst_LIBRARIES += db/libdb.a
db_libdb_a_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
db_libdb_a_SOURCES = \
	db/aside.c \
	db/audit.h \
	db/audits.c \
	db/blob.h \
	db/blobs.c \
	db/blob_tensors.c \
	db/blob_keys.c \
	db/blob_keys.h \
	db/connect.c \
	db/copies.c \
	db/copies.h \
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
	db/schema.c \
	db/seal.c \
	db/search.c \
	db/stmt.c \
	db/tensors.c \
	db/vtab.c \
	db/write.h \
	db/writer.c

# The schemas are SQL files that anybody can read, and strings in the program.
sql_strings = db/schema_sql.h db/schema3_sql.h db/audits_sql.h db/facts_sql.h \
	db/states_sql.h db/seal_sql.h
BUILT_SOURCES += $(sql_strings)
CLEANFILES += $(sql_strings)
EXTRA_DIST += db/schema.sql db/schema3.sql db/audits.sql db/facts.sql db/states.sql \
	db/seal.sql db/sql.awk
db/libdb_a-schema.$(OBJEXT): $(sql_strings)

db/schema_sql.h: db/schema.sql db/sql.awk
	$(AM_V_GEN)$(MKDIR_P) db && awk -v name=schema_sql -f $(srcdir)/db/sql.awk $(srcdir)/db/schema.sql >$@.tmp && mv $@.tmp $@
db/schema3_sql.h: db/schema3.sql db/sql.awk
	$(AM_V_GEN)$(MKDIR_P) db && awk -v name=schema3_sql -f $(srcdir)/db/sql.awk $(srcdir)/db/schema3.sql >$@.tmp && mv $@.tmp $@
db/audits_sql.h: db/audits.sql db/sql.awk
	$(AM_V_GEN)$(MKDIR_P) db && awk -v name=audits_sql -f $(srcdir)/db/sql.awk $(srcdir)/db/audits.sql >$@.tmp && mv $@.tmp $@
db/states_sql.h: db/states.sql db/sql.awk
	$(AM_V_GEN)$(MKDIR_P) db && awk -v name=states_sql -f $(srcdir)/db/sql.awk $(srcdir)/db/states.sql >$@.tmp && mv $@.tmp $@
db/facts_sql.h: db/facts.sql db/sql.awk
	$(AM_V_GEN)$(MKDIR_P) db && awk -v name=facts_sql -f $(srcdir)/db/sql.awk $(srcdir)/db/facts.sql >$@.tmp && mv $@.tmp $@
db/seal_sql.h: db/seal.sql db/sql.awk
	$(AM_V_GEN)$(MKDIR_P) db && awk -v name=seal_sql -f $(srcdir)/db/sql.awk $(srcdir)/db/seal.sql >$@.tmp && mv $@.tmp $@
