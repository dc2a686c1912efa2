/* JSON: what is accepted prints, compact and indented, to what is accepted again. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/format/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tb_err err = { 0 };
	char *one, *two, *pretty;
	cJSON *v, *again;

	if (json_parse(&v, (const char *)data, size, "fuzz", &err)) {
		if (!err.code || !*err.msg || v)
			abort();
		return 0;
	}
	one = json_print(v);
	pretty = json_print_pretty(v);
	json_free(v);
	if (!one || !pretty || json_parse(&again, pretty, strlen(pretty), "again", &err))
		abort();
	two = json_print(again);
	json_free(again);
	if (!two || strcmp(one, two) != 0)
		abort();
	free(one);
	free(two);
	free(pretty);
	return 0;
}
