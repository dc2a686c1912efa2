#include "config.h"

#include "src/store/unread.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/store/store_kind.h"

enum tb_status
unread_note(struct unread *u, const char *path, enum tb_status status, const struct tb_err *why,
	    struct tb_err *err)
{
	struct unread_place p;

	if (!status || status == TB_ENOENT)
		return TB_OK;
	if (status == TB_ENOMEM || status == TB_ECANCEL)
		return tb_pass(err, why);
	for (size_t i = 0; i < u->n; i++)
		if (!strcmp(u->v[i].path, path) || !strcmp(u->v[i].why, why->msg))
			return TB_OK;
	p = (struct unread_place){ tb_strdup(path), tb_strdup(why->msg) };
	if (!p.path || !p.why || !tb_grow(&u->v, &u->cap, u->n + 1, sizeof(p))) {
		free(p.path);
		free(p.why);
		return tb_nomem(err);
	}
	u->v[u->n++] = p;
	return TB_OK;
}

enum tb_status
unread_add(struct unread *u, const struct unread *more, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	struct tb_err why;

	for (size_t i = 0; !status && i < more->n; i++)
		status = unread_note(u, more->v[i].path, tb_fail(&why, TB_EIO, "%s", more->v[i].why),
				     &why, err);
	return status;
}

void
unread_free(struct unread *u)
{
	while (u->n) {
		free(u->v[--u->n].path);
		free(u->v[u->n].why);
	}
	free(u->v);
	*u = (struct unread){ 0 };
}

const struct unread_place *
unread_above(const struct unread *u, const char *path)
{
	for (size_t i = 0; i < u->n; i++)
		if (tb_path_inside(path, u->v[i].path, strlen(u->v[i].path)))
			return &u->v[i];
	return NULL;
}

bool
unread_uses(const struct unread *u, const char *blob)
{
	for (size_t i = 0; i < u->n; i++) {
		const char *place = u->v[i].path;
		size_t n = 0;

		for (const struct store_kind *const *k = store_kinds; *k && !n; k++)
			n = (*k)->above ? (*k)->above(place) : 0;
		n = n ? n : strlen(place);
		if (!strncmp(blob, place, n) && tb_starts(blob + n, "/blobs/"))
			return true;
	}
	return false;
}
