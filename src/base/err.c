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
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	return code;
}

static enum tb_status
from_errno(int e)
{
	switch (e) {
	case ENOENT:
	case ENOTDIR:
		return TB_ENOENT;
	case EEXIST:
		return TB_EEXIST;
	case ENOMEM:
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
	size_t len;
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	len = strlen(err->msg);
	snprintf(err->msg + len, sizeof(err->msg) - len, ": %s", strerror(saved));
	return code;
}

enum tb_status
tb_nomem(struct tb_err *err)
{
	return tb_fail(err, TB_ENOMEM, "out of memory");
}

enum tb_status
tb_wrap(struct tb_err *err, const char *fmt, ...)
{
	char rest[sizeof(err->msg)];
	size_t len;
	va_list ap;

	if (!err)
		return TB_EIO;
	memcpy(rest, err->msg, sizeof(rest));
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	len = strlen(err->msg);
	snprintf(err->msg + len, sizeof(err->msg) - len, ": %s", rest);
	return err->code;
}
