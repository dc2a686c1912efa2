/* db.h - the index: one function per query. */
#ifndef TBTUI_DB_DB_H
#define TBTUI_DB_DB_H
#endif
