/* err.h - what a function that can fail returns, and the sentence it leaves.
 *
 * The sentence is written where the detail is known (file, tensor, offset) and
 * lives with the caller, because operations run on threads. */
#ifndef TBTUI_BASE_ERR_H
#define TBTUI_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>

#define TB_STATUS_LIST(X) \
	X(TB_OK, "ok") \
	X(TB_EUSAGE, "wrong use") \
	X(TB_ENOENT, "not found") \
	X(TB_EEXIST, "exists already") \
	X(TB_EIO, "input or output failed") \
	X(TB_EFORMAT, "bad format") \
	X(TB_EUNSUP, "not supported") \
	X(TB_ELIMIT, "over a limit") \
	X(TB_ENOMEM, "out of memory or file descriptors") \
	X(TB_ECANCEL, "cancelled") \
	X(TB_EDB, "index failed") \
	X(TB_ESYNC, "written, but not synced")

#define X(id, text) id,
enum tb_status { TB_STATUS_LIST(X) };
#undef X

#define TB_MUST_USE __attribute__((warn_unused_result))
#define TB_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Is what was to be written there, whole and under its name?  So it is where only the sync
 * of its folder failed: others may have seen it, and it is not taken back. */
static inline bool
tb_written(enum tb_status status)
{
	return status == TB_OK || status == TB_ESYNC;
}

struct tb_err {
	enum tb_status code;	/* TB_OK until something failed */
	char msg[512];		/* one line, no newline; may hold hostile names: print
				 * it through tb_text_clean() */
};

/* Fills *err (which may be NULL) and returns `code`: "return tb_fail(...)". */
enum tb_status tb_fail(struct tb_err *err, enum tb_status code, const char *fmt, ...)
	TB_PRINTF(3, 4);

/* The same with ": strerror(errno)" behind it and a code that fits errno. */
enum tb_status tb_fail_errno(struct tb_err *err, const char *fmt, ...) TB_PRINTF(2, 3);

/* "out of memory", for the many places that have nothing to add. */
enum tb_status tb_nomem(struct tb_err *err);

/* Hands on what another error says: "return tb_pass(err, &why)". */
enum tb_status tb_pass(struct tb_err *err, const struct tb_err *why);

/* Puts "prefix: " before a message that is there already; returns status, which is its
 * code (nobody may want the message: err NULL). */
enum tb_status tb_wrap(struct tb_err *err, enum tb_status status, const char *fmt, ...)
	TB_PRINTF(3, 4);

/* A static name for a code, never NULL. */
const char *tb_status_text(enum tb_status code);
#endif
