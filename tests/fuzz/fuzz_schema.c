/* fuzz_schema.c - a hostile JSON schema: what is made of it is a grammar, or it is refused. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/text/grammar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct grammar *g;
	struct tb_err err;

	if (grammar_schema(&g, (const char *)data, size, "fuzz", &err)) {
		/* what it writes itself is GBNF: "fuzz:LINE:PLACE: " is said of GBNF alone */
		if (g || err.code == TB_OK ||
		    (!strncmp(err.msg, "fuzz:", 5) && err.msg[5] >= '1' && err.msg[5] <= '9'))
			abort();
		return 0;
	}
	grammar_free(g);
	return 0;
}
