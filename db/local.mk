noinst_LIBRARIES += db/libdb.a
db_libdb_a_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
db_libdb_a_SOURCES = \
	db/audit.h \
	db/blob.h \
	db/db.h
