/* json_scan.h - the grammar of JSON, checked before cJSON sees the text.
 * Private to src/format/json*.c. */
#ifndef TBTUI_FORMAT_JSON_SCAN_H
#define TBTUI_FORMAT_JSON_SCAN_H

#include <stddef.h>

#include "src/base/err.h"

#define JSON_DEPTH_MAX 128u	/* as serde_json has it; keeps recursion over a tree short */

/* What the walk over the text learned and the tree cannot tell any more: which
 * of its numbers (counted in document order) are written as exact integers. */
struct json_numbers {
	size_t *odd;		/* those that are not, ascending; owned */
	size_t n, cap;
};

/* RFC 8259 to the letter, without NUL characters and within JSON_DEPTH_MAX. */
enum tb_status json_scan(const char *text, size_t len, const char *what,
			 struct json_numbers *numbers, struct tb_err *err) TB_MUST_USE;
#endif
