/* unit.h - what every unit test includes: cmocka, and a few words of our own. */
#ifndef TBTUI_TESTS_UNIT_H
#define TBTUI_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/base/err.h"

/* A folder of this process alone, empty when first asked for and removed with
 * all that is in it at the end.  Static. */
const char *unit_tmp(void);
/* unit_tmp()/name; valid until the process ends. */
const char *unit_path(const char *name);
/* Makes (or replaces) the file `name` in unit_tmp() and gives its path. */
const char *unit_write(const char *name, const void *data, size_t len);
/* The shared test data's path with `rel` behind it; skips the test when there is none. */
const char *unit_shared(const char *rel);

/* The demo's trained model, a folder of the sources. */
const char *unit_demo(void);
/* A file of it, which borrows as above. */
const char *unit_demo_file(const char *name);

/* A call that must succeed; its message is printed when it does not.  `err` is
 * the struct tb_err that the call fills. */
#define assert_ok(call, err) unit_ok((call), &(err), #call, __FILE__, __LINE__)
/* A call that must fail with `code` and a message that contains `part`. */
#define assert_fails(call, err, code, part) \
	unit_fails((call), &(err), (code), (part), #call, __FILE__, __LINE__)

void unit_ok(enum tb_status got, const struct tb_err *err, const char *call, const char *file,
	     int line);
void unit_fails(enum tb_status got, const struct tb_err *err, enum tb_status want,
		const char *part, const char *call, const char *file, int line);
#endif
