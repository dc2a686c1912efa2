/* Server-sent events: the same events whether the bytes come at once or one by one. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/net/sse.h"

#define EVENT_MAX 300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum tb_status
note(void *arg, const char *event, const char *data, size_t len, struct tb_err *err)
{
	struct tb_buf *all = arg;

	(void)err;
	if (strlen(event) > 1024 || len > EVENT_MAX || data[len])
		abort();
	tb_buf_str(all, event);
	tb_buf_chr(all, 0);
	tb_buf_add(all, data, len);
	tb_buf_chr(all, 0);
	return TB_OK;
}

static enum tb_status
read_in(const uint8_t *data, size_t size, size_t step, struct tb_buf *all)
{
	enum tb_status status = TB_OK;
	struct sse s;

	sse_init(&s, EVENT_MAX, note, all);
	for (size_t at = 0; at < size && !status; at += step)
		status = sse_feed(&s, (const char *)data + at, size - at < step ? size - at : step,
				  NULL);
	if (!status)
		status = sse_end(&s, NULL);
	sse_free(&s);
	return status;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tb_buf whole = TB_BUF(64u << 20), bytes = TB_BUF(64u << 20);
	enum tb_status a = read_in(data, size, size + !size, &whole);
	enum tb_status b = read_in(data, size, 1, &bytes);

	if (a != b || whole.len != bytes.len ||
	    (whole.len && memcmp(whole.p, bytes.p, whole.len)))
		abort();
	tb_buf_free(&whole);
	tb_buf_free(&bytes);
	return 0;
}
