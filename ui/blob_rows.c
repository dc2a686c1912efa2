#include "config.h"

#include "ui/blob_rows.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"

#define HEX_LEN (2 * TB_SHA256_LEN)

const char *
blob_kind(const struct db_blob_key *k)
{
	if (k->kind != DB_FILE_BLOB)
		return db_file_word((enum db_file_kind)k->kind);
	return k->media < MEDIA_UNKNOWN ? media_name((enum media)k->media) : "blob";
}

static bool
blob_in_set(const struct db_blob_key *k, enum blob_set set)
{
	bool blob = k->kind == DB_FILE_BLOB;

	switch (set) {
	case SET_ORPHANS: return blob && !k->owners && !k->young && !k->unclear;
	case SET_SHARED: return blob && k->owners > 1;
	case SET_MISSING: return k->missing;
	case SET_UNDECIDED: return blob && !k->owners && (k->young || k->unclear);
	case SET_LEFT: return k->kind > DB_FILE_BLOB;
	default: return true;
	}
}

void
blob_rows_free(struct blob_rows *b)
{
	tb_arena_free(&b->keys.mem);
	free(b->row);
	*b = (struct blob_rows){ 0 };
}

bool
blob_rows_set(struct blob_rows *b, struct db_blob_keys *keys)
{
	uint32_t *row = keys->n < UINT32_MAX ? tb_calloc(keys->n + 1, sizeof(*row)) : NULL;

	if (!row)
		return false;
	blob_rows_free(b);
	b->row = row;
	b->keys = *keys;
	*keys = (struct db_blob_keys){ 0 };
	for (size_t i = 0; i < b->keys.n; i++) {
		const struct db_blob_key *k = &b->keys.rows[i];

		for (int s = 0; s < SET_COUNT; s++)
			if (blob_in_set(k, (enum blob_set)s)) {
				b->set[s].n++;
				b->set[s].bytes += k->missing && s != SET_MISSING ? 0 : k->size;
			}
	}
	return true;
}

/* ---- filter ---- */

struct needle {
	const char *text;
	char hex[HEX_LEN + 1];		/* lower case; "": the text is not of a digest */
	size_t hex_len;
	bool kind[DB_FILE_COUNT], media[MEDIA_COUNT];	/* words that the text is part of */
};

static struct needle
make_needle(const char *text)
{
	struct needle n = { .text = text };
	const char *hex = tb_starts(text, "sha256:") || tb_starts(text, "sha256-") ? text + 7
			: text;
	size_t len = strlen(hex);

	for (int i = 0; i < DB_FILE_COUNT; i++)
		n.kind[i] = tb_contains(db_file_word((enum db_file_kind)i), text);
	for (int i = 0; i < MEDIA_COUNT; i++)
		n.media[i] = tb_contains(media_name((enum media)i), text);
	if (!len || len > HEX_LEN || strspn(hex, "0123456789abcdefABCDEF") != len)
		return n;
	for (size_t i = 0; i < len; i++)
		n.hex[i] = hex[i] >= 'A' && hex[i] <= 'F' ? (char)(hex[i] + 32) : hex[i];
	n.hex_len = len;
	return n;
}

static bool
in_digest(const struct db_blob_key *k, const struct needle *n)
{
	static const char digit[] = "0123456789abcdef";
	char hex[HEX_LEN];

	for (size_t i = 0; i < TB_SHA256_LEN; i++) {
		hex[2 * i] = digit[k->digest[i] >> 4];
		hex[2 * i + 1] = digit[k->digest[i] & 15];
	}
	/* memmem() prepares more than so short a search takes. */
	for (const char *p = hex, *end = hex + HEX_LEN - n->hex_len + 1; p < end; p++) {
		p = memchr(p, n->hex[0], (size_t)(end - p));
		if (!p || !memcmp(p, n->hex, n->hex_len))
			return p != NULL;
	}
	return false;
}

static bool
blob_matches(const struct db_blob_key *k, const struct needle *n)
{
	bool named = k->kind == DB_FILE_BLOB && k->media < MEDIA_UNKNOWN;

	return !*n->text || (named ? n->media[k->media] : n->kind[k->kind]) ||
	       (k->path && tb_contains(k->path, n->text)) ||
	       (k->hashed && n->hex_len && in_digest(k, n));
}

/* ---- order ---- */

/* What a column sorts by, as one number; the greater comes first where `down` says so. */
static uint64_t
blob_number(const struct db_blob_key *k, enum blob_order order)
{
	const char *word;
	uint64_t n = 0;

	switch (order) {
	case ORDER_SIZE: return k->size;
	case ORDER_OWNERS: return k->owners;
	case ORDER_STATE: return k->state;
	case ORDER_MODIFIED: return k->mtime_ns > 0 ? (uint64_t)k->mtime_ns : 0;
	case ORDER_KIND:
		word = blob_kind(k);
		for (int i = 0; i < 8; i++)
			n = n << 8 | (*word ? (unsigned char)*word++ : 0);
		return n;
	default: return 0;
	}
}

struct item { uint64_t key; uint32_t row; };

/* Bytes from the low end; what is equal stays in the order it had.  Returns which of the
 * two has the result. */
static struct item *
radix(struct item *a, struct item *b, size_t n)
{
	for (unsigned shift = 0; shift < 64; shift += 8) {
		size_t at[257] = { 0 };
		struct item *swap = a;

		for (size_t i = 0; i < n; i++)
			at[(a[i].key >> shift & 255) + 1]++;
		if (n && at[(a[0].key >> shift & 255) + 1] == n)
			continue;	/* all have the same byte there */
		for (size_t i = 0; i < 256; i++)
			at[i + 1] += at[i];
		for (size_t i = 0; i < n; i++)
			b[at[a[i].key >> shift & 255]++] = a[i];
		a = b;
		b = swap;
	}
	return a;
}

static void
blob_sort(struct blob_rows *b, enum blob_order order, bool down)
{
	struct item *a = tb_calloc(2 * b->n + 1, sizeof(*a)), *sorted;

	if (!a)		/* the order of digests stays */
		return;
	for (size_t i = 0; i < b->n; i++) {
		uint64_t key = blob_number(&b->keys.rows[b->row[i]], order);

		a[i] = (struct item){ down ? ~key : key, b->row[i] };
	}
	sorted = radix(a, a + b->n, b->n);
	for (size_t i = 0; i < b->n; i++)
		b->row[i] = sorted[i].row;
	free(a);
}

void
blob_rows_show(struct blob_rows *b, enum blob_set set, const char *filter,
	       enum blob_order order, bool reverse)
{
	struct needle n = make_needle(filter);
	bool down = order == ORDER_SIZE || order == ORDER_OWNERS || order == ORDER_STATE ||
		    order == ORDER_MODIFIED;

	b->n = 0;
	for (size_t i = 0; i < b->keys.n; i++)
		if (blob_in_set(&b->keys.rows[i], set) && blob_matches(&b->keys.rows[i], &n))
			b->row[b->n++] = (uint32_t)i;
	if (order != ORDER_DIGEST) {
		blob_sort(b, order, down != reverse);
		return;
	}
	for (size_t i = 0; reverse && i < b->n / 2; i++) {
		uint32_t swap = b->row[i];

		b->row[i] = b->row[b->n - 1 - i];
		b->row[b->n - 1 - i] = swap;
	}
}

bool
blob_rows_find(const struct blob_rows *b, int64_t id, size_t *row)
{
	for (*row = 0; *row < b->n; (*row)++)
		if (b->keys.rows[b->row[*row]].id == id)
			return true;
	return false;
}
