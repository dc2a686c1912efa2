/* Docker's configuration and what its helpers answer: a program's name has no path in it, what is
 * shown has no end of line where that would matter. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/net/docker_config.h"
#include "src/net/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(const struct credentials *c)
{
	if ((c->token && strpbrk(c->token, "\r\n ")) || (c->refresh && strpbrk(c->refresh, "\r\n ")) ||
	    !c->user != !c->password)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const urls[] = { "https://a.example", "https://registry-1.docker.io",
					    "http://localhost:5000" };
	struct docker_entry e;
	struct credentials c;
	struct url u;

	for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
		if (url_parse(&u, urls[i], NULL))
			abort();
		if (!docker_config_find((const char *)data, size, "config.json", &u, &e, NULL)) {
			check(&e.cred);
			if (e.helper && (strchr(e.helper, '/') || strchr(e.helper, ' ')))
				abort();
		}
		docker_entry_free(&e);
		url_free(&u);
	}
	if (!docker_helper_read((const char *)data, size, "x", &c, NULL))
		check(&c);
	credentials_free(&c);
	return 0;
}
