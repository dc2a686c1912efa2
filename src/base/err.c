#include "config.h"

#include "src/base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define X(id, text) [id] = text,
static const char *const texts[] = { TB_STATUS_LIST(X) };
#undef X

const char *
tb_status_text(enum tb_status code)
{
	return (size_t)code < sizeof(texts) / sizeof(*texts) ? texts[code] : "unknown status";
}

enum tb_status
tb_fail(struct tb_err *err, enum tb_status code, const char *fmt, ...)
{
	char msg[sizeof(err->msg)];	/* the arguments may lie in err->msg itself */
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	memcpy(err->msg, msg, sizeof(msg));
	err->code = code;
	return code;
}

/* "head: tail" in at most `size` bytes.  A long head (a path) leaves room for the
 * tail, which says what is wrong. */
static void
join(char *out, size_t size, const char *head, const char *tail)
{
	size_t keep = strlen(tail) < size / 2 ? size - strlen(tail) - 3 : size / 2;

	if (strlen(head) <= keep)
		snprintf(out, size, "%s: %s", head, tail);
	else
		snprintf(out, size, "%.*s…: %s", (int)(keep - strlen("…")), head, tail);
}

static enum tb_status
from_errno(int e)
{
	switch (e) {
	case ENOENT:
	case ENOTDIR:
	case ELOOP:	/* links that lead nowhere */
		return TB_ENOENT;
	case EEXIST:
		return TB_EEXIST;
	case ENOMEM:
	case EMFILE:	/* nothing is wrong with the file: the process has come to an end */
	case ENFILE:
		return TB_ENOMEM;
	default:
		return TB_EIO;
	}
}

enum tb_status
tb_fail_errno(struct tb_err *err, const char *fmt, ...)
{
	int saved = errno;
	enum tb_status code = from_errno(saved);
	char head[sizeof(err->msg)];
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	vsnprintf(head, sizeof(head), fmt, ap);
	va_end(ap);
	err->code = code;
	join(err->msg, sizeof(err->msg), head, saved == EMFILE
	     ? "too many open files; allow more with \"ulimit -n\", or use fewer threads (-t)"
	     : strerror(saved));
	return code;
}

enum tb_status
tb_nomem(struct tb_err *err)
{
	return tb_fail(err, TB_ENOMEM, "out of memory");
}

enum tb_status
tb_pass(struct tb_err *err, const struct tb_err *why)
{
	return tb_fail(err, why->code, "%s", why->msg);
}

enum tb_status
tb_wrap(struct tb_err *err, enum tb_status status, const char *fmt, ...)
{
	char head[sizeof(err->msg)], tail[sizeof(err->msg)];
	va_list ap;

	if (!err)
		return status;
	va_start(ap, fmt);
	vsnprintf(head, sizeof(head), fmt, ap);
	va_end(ap);
	memcpy(tail, err->msg, sizeof(tail));
	join(err->msg, sizeof(err->msg), head, tail);
	return status;
}
