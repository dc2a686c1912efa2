/* fetch_adopt.c - what other programs have loaded of the same becomes the beginning of ours.
 *
 * Theirs stays as it is, and is as little believed as ours: the digest says what it was.
 * Ollama's "sha256-HEX-partial" has the length of all; "-partial-N" say which parts there are:
 * {"N":0,"Offset":0,"Size":100000000,"Completed":73400320}. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/ops/fetch/fetch_parts.h"

#define PIECE (8u << 20)
#define STATE_MAX 4096u
#define THEIR_PARTS_MAX 1024u

struct stretch { uint64_t off, size, done; };

/* [off, off + len) of theirs; how much of that could be copied.  Where the file system can it
 * is shared. */
static uint64_t
copy_stretch(const struct fetch *f, const struct fetch_file *file, const struct tb_file *from,
	     uint64_t off, uint64_t len)
{
	uint64_t at = 0;

	while (at < len && !tb_job_cancelled(f->job)) {
		off64_t in = (off64_t)(off + at), out = in;
		size_t n = len - at < PIECE ? (size_t)(len - at) : PIECE;
		ssize_t put = copy_file_range(from->fd, &in, file->fd, &out, n, 0);

		if (put <= 0)
			break;
		at += (uint64_t)put;
	}
	return at;
}

/* A file that has its beginning, and nothing else. */
static uint64_t
adopt_beginning(const struct fetch *f, const struct fetch_file *file, const char *path)
{
	struct tb_file from;
	uint64_t got;

	if (tb_file_open(&from, path, NULL))
		return 0;
	got = from.id.size > file->it.size ? 0 : copy_stretch(f, file, &from, 0, from.id.size);
	tb_file_close(&from);
	return got;
}

static bool
read_stretch(const char *path, struct stretch *s)
{
	cJSON *doc = NULL;
	bool ok = !json_read(&doc, path, STATE_MAX, NULL) &&
		  json_u64(json_get(doc, "Offset"), &s->off) &&
		  json_u64(json_get(doc, "Size"), &s->size) &&
		  json_u64(json_get(doc, "Completed"), &s->done) && s->done <= s->size;

	json_free(doc);
	return ok;
}

/* Theirs in order, if they are parts of one size (the last may be shorter) that leave nothing out;
 * 0: they are not. */
static size_t
read_stretches(const struct fetch_file *file, const char *partial, struct stretch *s)
{
	uint64_t end = 0;
	size_t n = 0;

	for (; n < THEIR_PARTS_MAX && end < file->it.size; n++) {
		char *path = tb_asprintf("%s-%zu", partial, n);
		bool ok = path && read_stretch(path, &s[n]) && s[n].off == end && s[n].size &&
			  s[n].size <= s[0].size && s[n].size <= file->it.size - end;

		free(path);
		if (!ok)
			break;
		end += s[n].size;
		if (s[n].size != s[0].size && end < file->it.size)
			break;
	}
	return end == file->it.size ? n : 0;
}

/* Ours become as long as theirs: then each goes on where it was. */
static uint64_t
adopt_parts(const struct fetch *f, struct fetch_file *file, const char *partial)
{
	struct stretch *s = tb_calloc(THEIR_PARTS_MAX, sizeof(*s));
	size_t n = s ? read_stretches(file, partial, s) : 0;
	struct tb_file from;
	uint64_t prefix = 0;

	if (!n || tb_file_open(&from, partial, NULL)) {
		free(s);
		return 0;
	}
	if (n == 1 || atomic_load(&file->whole))
		prefix = copy_stretch(f, file, &from, 0, s[0].done);
	else if (fetch_parts_make(file, s[0].size))
		for (size_t i = 0; i < n && i < file->nparts; i++)
			file->parts[i].got = copy_stretch(f, file, &from, s[i].off, s[i].done);
	tb_file_close(&from);
	free(s);
	return prefix;
}

uint64_t
fetch_adopt(const struct fetch *f, struct fetch_file *file)
{
	bool named = f->blobs && tb_starts(file->it.digest, "sha256:");
	char *blob = named ? tb_asprintf("%s/sha256-%s", f->blobs, file->name) : NULL;
	char *partial = blob ? tb_asprintf("%s-partial", blob) : NULL;
	char *tmp = blob ? tb_asprintf("%s.tmp", blob) : NULL;
	uint64_t prefix = 0;

	if (file->it.begun)
		prefix = adopt_beginning(f, file, file->it.begun);
	if (!prefix && tmp)
		prefix = adopt_beginning(f, file, tmp);
	if (!prefix && partial)
		prefix = adopt_parts(f, file, partial);
	free(tmp);
	free(partial);
	free(blob);
	return prefix;
}
