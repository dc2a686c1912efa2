/* funcs.c - what SQL in this program can call. */
#include "config.h"

#include "db/blob.h"
#include "db/list.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"

/* Names come from files and may hold any bytes but NUL, which SQLite keeps; a
 * missing text is an empty one. */
static const char *
text_of(sqlite3_value *v)
{
	const char *s = (const char *)sqlite3_value_text(v);

	return s ? s : "";
}

/* tb_match(filter, text): a glob if the filter has one, else a part, any case. */
static void
match(sqlite3_context *ctx, int n, sqlite3_value **v)
{
	const char *filter = text_of(v[0]), *text = text_of(v[1]);

	(void)n;
	sqlite3_result_int(ctx, db_match(filter, text));
}

bool
db_young(int64_t mtime_ns)
{
	return mtime_ns > tb_now_ns() - INT64_C(3600) * 1000000000;
}

static void
young(sqlite3_context *ctx, int n, sqlite3_value **v)
{
	(void)n;
	sqlite3_result_int(ctx, db_young(sqlite3_value_int64(v[0])));
}

/* tb_family(arch): as lists show it, so that they are in its order. */
static void
family(sqlite3_context *ctx, int n, sqlite3_value **v)
{
	const char *arch = (const char *)sqlite3_value_text(v[0]);
	char out[MODEL_FAMILY_MAX];

	(void)n;
	sqlite3_result_text(ctx, model_family(arch ? arch : "", out), -1, SQLITE_TRANSIENT);
}

/* tb_is_model(kind), tb_shares_blobs(kind): see src/store/kind.h. */
static void
funcs_is_model(sqlite3_context *ctx, int n, sqlite3_value **v)
{
	(void)n;
	sqlite3_result_int(ctx, kind_is_model(kind_of_number(sqlite3_value_int64(v[0]))));
}

static void
funcs_shares_blobs(sqlite3_context *ctx, int n, sqlite3_value **v)
{
	(void)n;
	sqlite3_result_int(ctx, kind_shares_blobs(kind_of_number(sqlite3_value_int64(v[0]))));
}

static int
natural(void *arg, int na, const void *a, int nb, const void *b)
{
	char small[2][256], *sa = small[0], *sb = small[1];
	int order = 0;

	(void)arg;
	if (na == nb && !memcmp(a, b, (size_t)na))
		return 0;
	if (na >= 256)
		sa = malloc((size_t)na + 1);
	if (nb >= 256)
		sb = malloc((size_t)nb + 1);
	if (sa && sb) {
		memcpy(sa, a, (size_t)na);
		memcpy(sb, b, (size_t)nb);
		sa[na] = sb[nb] = 0;
		order = tb_natural_cmp(sa, sb);
	}
	if (sa != small[0])
		free(sa);
	if (sb != small[1])
		free(sb);
	return order;
}

enum tb_status
db_functions(sqlite3 *sql, struct tb_err *err)
{
	int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;

	if (sqlite3_create_function(sql, "tb_match", 2, flags, NULL, match, NULL, NULL) ||
	    sqlite3_create_function(sql, "tb_young", 1, SQLITE_UTF8, NULL, young, NULL, NULL) ||
	    sqlite3_create_function(sql, "tb_family", 1, flags, NULL, family, NULL, NULL) ||
	    sqlite3_create_function(sql, "tb_is_model", 1, flags, NULL, funcs_is_model, NULL, NULL) ||
	    sqlite3_create_function(sql, "tb_shares_blobs", 1, flags, NULL, funcs_shares_blobs, NULL,
				    NULL) ||
	    sqlite3_create_collation(sql, "tb_natural", SQLITE_UTF8, NULL, natural))
		return tb_fail(err, TB_EDB, "%s", sqlite3_errmsg(sql));
	return TB_OK;
}
