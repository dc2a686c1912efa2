/* verify_zeros.c - where a file whose bytes are wrong was never written, or was wiped:
 * the first long run of zeros.  Lost pages and sparse copies look like that. */
#include "config.h"

#include "src/ops/verify/verify_run.h"

#include <stdlib.h>
#include <string.h>

#include "src/ops/verify/verify_tensors.h"

#define PAGE 4096u
#define WINDOW (256u * PAGE)

/* Whole pages of zeros, from the first there is up to the next that is none. */
static enum tb_status
find_run(struct verify_run *r, const struct tb_file *f, uint64_t off, uint64_t end,
	 uint8_t *window, struct verify_zeros *out, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	/* pages of the file, wherever the bytes begin */
	for (uint64_t at = (off + PAGE - 1) / PAGE * PAGE; !status && at < end; at += WINDOW) {
		uint64_t left = end - at;
		size_t len = left < WINDOW ? (size_t)left : WINDOW;

		status = tb_job_check(r->job, err);
		if (!status)
			status = tb_file_read(f, at, window, len, err);
		for (size_t i = 0; !status && i < len; i += PAGE) {
			size_t n = len - i < PAGE ? len - i : PAGE;
			bool zero = !window[i] && !memcmp(window + i, window + i + 1, n - 1);

			if (zero && (out->len || n == PAGE)) {
				out->off = out->len ? out->off : at + i;
				out->len += n;
			} else if (out->len) {
				return TB_OK;
			}
		}
	}
	return status;
}

enum tb_status
verify_find_zeros(struct verify_run *r, const struct tb_file *f, uint64_t off, uint64_t len,
		  struct verify_zeros *out, struct tb_err *err)
{
	struct verify_tensors list = { 0 };
	const struct verify_tensor *t;
	uint8_t *window = malloc(WINDOW);
	enum tb_status status;

	*out = (struct verify_zeros){ 0 };
	if (!window)
		return tb_nomem(err);
	status = find_run(r, f, off, off + len, window, out, err);
	free(window);
	if (status || !out->len)
		return status;
	status = verify_tensors_read(&list, f, err);
	if (!status && (t = verify_tensor_at(&list, out->off)))
		memcpy(out->tensor, t->name, strnlen(t->name, sizeof(out->tensor) - 1));
	verify_tensors_free(&list);
	return status;
}
