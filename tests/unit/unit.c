#include "config.h"

#include "tests/unit/unit.h"

#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/mem.h"

static char *tmp;
static pid_t owner;		/* a forked child must not remove it */
static char *paths[4096];	/* given out, freed at the end */
static size_t npaths;

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void
clean_up(void)
{
	if (getpid() == owner && nftw(tmp, remove_one, 16, FTW_DEPTH | FTW_PHYS))
		perror(tmp);
	while (npaths)
		free(paths[--npaths]);
	free(tmp);
}

const char *
unit_tmp(void)
{
	const char *base = getenv("TMPDIR");

	if (tmp)
		return tmp;
	tmp = tb_asprintf("%s/tbtui-unit-XXXXXX", base && *base ? base : "/tmp");
	assert_non_null(tmp);
	assert_non_null(mkdtemp(tmp));
	owner = getpid();
	atexit(clean_up);
	return tmp;
}

static const char *
kept(char *path)
{
	assert_non_null(path);
	assert_true(npaths < sizeof(paths) / sizeof(*paths));
	return paths[npaths++] = path;
}

const char *
unit_path(const char *name)
{
	return kept(tb_path_join(unit_tmp(), name));
}

const char *
unit_write(const char *name, const void *data, size_t len)
{
	const char *path = unit_path(name);
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
	return path;
}

const char *
unit_shared(const char *rel)
{
	const char *dir = getenv("TBTUI_SHARED");

	if (!dir || !*dir)
		skip();
	unit_tmp();		/* whose end frees the path */
	return kept(tb_path_join(dir, rel));
}

const char *
unit_demo(void)
{
	const char *dir = getenv("TBTUI_SRC");

	unit_tmp();
	return kept(tb_path_join(dir && *dir ? dir : ".", "data/demo"));
}

const char *
unit_demo_file(const char *name)
{
	return kept(tb_path_join(unit_demo(), name));
}

void
unit_ok(enum tb_status got, const struct tb_err *err, const char *call, const char *file, int line)
{
	if (got == TB_OK)
		return;
	print_error("%s: %s: %s\n", call, tb_status_text(got), err->msg);
	_fail(file, line);
}

void
unit_fails(enum tb_status got, const struct tb_err *err, enum tb_status want, const char *part,
	   const char *call, const char *file, int line)
{
	if (got == want && strstr(err->msg, part))
		return;
	print_error("%s: %s (\"%s\"), but %s and \"...%s...\" are expected\n", call,
		    tb_status_text(got), got ? err->msg : "", tb_status_text(want), part);
	_fail(file, line);
}
