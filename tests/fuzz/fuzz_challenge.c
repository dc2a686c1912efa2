/* What a server says that it wants to see: a word of it is never longer than all of it. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/net/challenge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct challenge c;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	challenge_init(&c);
	if (!challenge_add(&c, text) || !challenge_add(&c, "Bearer realm=x") ||
	    c.kind != CHALLENGE_BEARER)
		abort();
	if (c.realm.len > size + 1 || c.service.len > size || c.scope.len > size ||
	    strlen(c.others) >= sizeof(c.others))
		abort();
	challenge_free(&c);
	free(text);
	return 0;
}
