/* Sums as they are kept of a file: read back, walked, packed again. */
#include "config.h"

#include <stdlib.h>

#include "src/base/sums.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tb_buf out = TB_BUF(64u << 20);
	struct tb_piece p = { 0 };
	struct tb_sums s, again;
	uint64_t end = 0;

	if (tb_sums_unpack(&s, data, size, NULL))
		return 0;
	while (tb_sums_next(&s, &p)) {
		if (p.i >= s.n || p.off != end || p.len > TB_SUMS_PIECE)
			abort();
		end += p.len;
	}
	if (end != s.size || tb_sums_pack(&s, &out, NULL) ||
	    tb_sums_unpack(&again, out.p, out.len, NULL) || again.n != s.n)
		abort();
	tb_sums_free(&again);
	tb_sums_free(&s);
	tb_buf_free(&out);
	return 0;
}
