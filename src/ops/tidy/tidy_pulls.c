/* tidy_pulls.c - downloads that did not end.
 *
 * A run at work holds a lock.  One that was stopped is to be gone on with: for a day it stays. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/ops/fetch/fetch.h"
#include "src/ops/tidy/tidy_parts.h"

bool
tidy_is_pull(const char *path)
{
	return strstr(path, "/" FETCH_DIR "/") != NULL;
}

bool
tidy_pulls_run(const char *root)
{
	struct fetch_lefts lefts;
	struct tb_path dir;
	bool any = false;

	if (fetch_left_read(&lefts, tb_path_in(&dir, root, FETCH_DIR), NULL))
		return false;		/* where that cannot be read no operation can be begun */
	for (size_t i = 0; i < lefts.n; i++)
		any |= lefts.v[i].in_use;
	fetch_left_free(&lefts);
	return any;
}

static enum tb_status
add_left(struct tidy *t, size_t root, const char *dir, const struct fetch_left *l,
	 struct tb_err *err)
{
	bool stays = l->in_use || tidy_is_young(l->when_ns, TIDY_DAY);
	enum tb_status status = TB_OK;
	char *text = fetch_left_text(l);

	if (!text)
		return tb_nomem(err);
	if (l->there || l->in_use)
		status = tb_names_add(&t->pulls, text, err);
	free(text);
	for (size_t i = 0; i < l->names.n && !status; i++) {
		char *path = tb_path_join(dir, l->names.v[i]), digest[TB_DIGEST_MAX];
		bool data = fetch_left_is_data(l->names.v[i], digest);

		if (!path)
			status = tb_nomem(err);
		else if (!stays)
			status = tidy_add(t, &(struct tidy_new){ .what = TIDY_REMOVE, .path = path,
					  .digest = digest, .root = root }, err);
		else if (data)
			tidy_stays(t, TIDY_DOWNLOAD, fetch_left_there(path));
		free(path);
	}
	return status;
}

enum tb_status
tidy_pulls_prune(struct tidy *t, size_t root, const char *dir, struct tb_err *err)
{
	struct fetch_lefts lefts = { 0 };
	struct tb_err why;
	enum tb_status status = fetch_left_read(&lefts, dir, &why);

	if (status)
		return status == TB_ENOMEM ? tb_pass(err, &why) : tb_names_add(&t->unread, why.msg, err);
	for (size_t i = 0; i < lefts.n && !status; i++)
		status = add_left(t, root, dir, &lefts.v[i], err);
	fetch_left_free(&lefts);
	return status;
}
