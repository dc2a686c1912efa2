/* What a client asks for over HTTP; the first byte says by whose words. */
#include "config.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/ops/serve/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
look(const char *s)
{
	if (s && strlen(s) == SIZE_MAX)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sampler_opts o = SAMPLER_DEFAULTS;
	struct tb_err err = { 0 };
	struct serve_request r;
	struct sampler *s;
	uint32_t tokens = 0;

	if (!size)
		return 0;
	if (serve_request_parse(&r, (enum serve_api)(*data % 4), (const char *)data + 1, size - 1,
				&err)) {
		if (!err.code || !*err.msg)
			abort();
		serve_request_free(&r);
		return 0;
	}
	if (!r.prompt == !r.nmessages || r.nstops > REQUEST_STOPS || r.top > GEN_TOP)
		abort();
	for (size_t i = 0; i < r.nmessages; i++) {
		if (!r.messages[i].role || !r.messages[i].content)
			abort();
		look(r.messages[i].role);
		look(r.messages[i].content);
		look(r.messages[i].tool_calls);
		look(r.messages[i].tool_name);
	}
	serve_request_sampling(&r, &o, &tokens);	/* what was taken can be drawn by */
	if (sampler_new(&s, &o, 10, &err))
		abort();
	sampler_free(s);
	serve_request_free(&r);
	return 0;
}
