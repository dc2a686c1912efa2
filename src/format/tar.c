#include "config.h"

#include "src/format/tar.h"

#include <stdio.h>
#include <string.h>

/* Where a header has what. */
enum {
	AT_NAME = 0, AT_MODE = 100, AT_UID = 108, AT_GID = 116, AT_SIZE = 124, AT_MTIME = 136,
	AT_SUM = 148, AT_TYPE = 156, AT_MAGIC = 257, AT_PREFIX = 345,
	NAME_LEN = 100, NUMBER_LEN = 12, SUM_LEN = 8, PREFIX_LEN = 155,
};
#define OCTAL_MAX 077777777777u		/* what eleven digits hold */

static unsigned
sum_of(const uint8_t block[TAR_BLOCK])
{
	unsigned sum = 0;

	for (unsigned i = 0; i < TAR_BLOCK; i++)
		sum += i >= AT_SUM && i < AT_SUM + SUM_LEN ? ' ' : block[i];
	return sum;
}

/* Bytes of the path that go into the prefix; 0: none; SIZE_MAX: it fits nowhere. */
static size_t
split_path(const char *path)
{
	size_t n = strlen(path);

	if (n <= NAME_LEN)
		return 0;
	for (size_t i = n - NAME_LEN - 1; i <= PREFIX_LEN && i + 1 < n; i++)
		if (path[i] == '/' && i)
			return i;
	return SIZE_MAX;
}

static void
put_head(struct tb_buf *out, const char *path, uint64_t size, int64_t mtime, char type)
{
	size_t prefix = split_path(path), n = strlen(path);
	const char *name = prefix && prefix != SIZE_MAX ? path + prefix + 1 : path;
	char h[TAR_BLOCK + 1] = { 0 };

	if (prefix == SIZE_MAX)		/* the records have all of it */
		name = path + n - NAME_LEN;
	else
		memcpy(h + AT_PREFIX, path, prefix);
	memcpy(h + AT_NAME, name, strlen(name));
	snprintf(h + AT_MODE, 8, "%07o", 0644u);
	snprintf(h + AT_UID, 8, "%07o", 0u);
	snprintf(h + AT_GID, 8, "%07o", 0u);
	snprintf(h + AT_SIZE, NUMBER_LEN, "%011jo", (uintmax_t)(size > OCTAL_MAX ? 0 : size));
	snprintf(h + AT_MTIME, NUMBER_LEN, "%011jo",
		 (uintmax_t)(mtime < 0 || mtime > (int64_t)OCTAL_MAX ? 0 : mtime));
	memcpy(h + AT_MAGIC, "ustar\0" "00", 8);
	h[AT_TYPE] = type;
	snprintf(h + AT_SUM, SUM_LEN + 1, "%06o%c ", sum_of((const uint8_t *)h), 0);
	h[AT_TYPE] = type;	/* where snprintf() has put its NUL */
	tb_buf_add(out, h, TAR_BLOCK);
}

/* "LENGTH KEY=VALUE\n", where the length counts its own digits. */
static void
put_record(struct tb_buf *out, const char *key, const char *value)
{
	size_t rest = strlen(key) + strlen(value) + 3, n = rest + 1;

	while ((size_t)snprintf(NULL, 0, "%zu", n) + rest != n)
		n++;
	tb_buf_printf(out, "%zu %s=%s\n", n, key, value);
}

void
tar_put(struct tb_buf *out, const char *path, uint64_t size, int64_t mtime)
{
	struct tb_buf records = TB_BUF(TAR_PAX_MAX);
	static const char zeros[TAR_BLOCK];
	char number[24];

	if (split_path(path) == SIZE_MAX)
		put_record(&records, "path", path);
	if (size > OCTAL_MAX) {
		snprintf(number, sizeof(number), "%ju", (uintmax_t)size);
		put_record(&records, "size", number);
	}
	if (records.len) {
		put_head(out, "pax-header", records.len, mtime, 'x');
		tb_buf_add(out, records.p, records.len);
		tb_buf_add(out, zeros, tar_padding(records.len));
	}
	out->failed |= tb_buf_failed(&records);
	put_head(out, path, size, mtime, '0');
	tb_buf_free(&records);
}

/* Octal digits between blanks and a NUL or blank; or, as GNU writes what is larger, a big
 * number behind a byte of 0x80. */
static bool
read_number(const uint8_t *p, size_t n, uint64_t *out)
{
	size_t i = 0;

	*out = 0;
	if (p[0] == 0x80) {
		for (i = 1; i < n; i++) {
			if (*out >> 56)
				return false;
			*out = *out << 8 | p[i];
		}
		return true;
	}
	while (i < n && p[i] == ' ')
		i++;
	if (i == n || p[i] < '0' || p[i] > '7')
		return false;
	for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
		*out = *out << 3 | (unsigned)(p[i] - '0');
	return i == n || p[i] == 0 || p[i] == ' ';
}

enum tar_block
tar_parse(const uint8_t block[TAR_BLOCK], struct tar_head *h)
{
	static const uint8_t zeros[TAR_BLOCK];
	const char *name = (const char *)block + AT_NAME, *prefix = (const char *)block + AT_PREFIX;
	char sum[SUM_LEN + 1];
	int n = 0;

	if (!memcmp(block, zeros, TAR_BLOCK))
		return TAR_ZEROS;
	*h = (struct tar_head){ .type = (char)block[AT_TYPE] };
	snprintf(sum, sizeof(sum), "%06o%c ", sum_of(block), 0);	/* as everybody writes it */
	if (memcmp(block + AT_SUM, sum, SUM_LEN) != 0 ||
	    !read_number(block + AT_SIZE, NUMBER_LEN, &h->size) ||
	    memcmp(block + AT_MAGIC, "ustar", 5) != 0)
		return TAR_DAMAGED;
	if (!h->type)
		h->type = '0';
	if (*prefix && !block[AT_MAGIC + 5])	/* GNU's headers have other things there */
		n = snprintf(h->path, sizeof(h->path), "%.*s/", PREFIX_LEN, prefix);
	snprintf(h->path + n, sizeof(h->path) - (size_t)n, "%.*s", NAME_LEN, name);
	return TAR_HEAD;
}

static bool
take_record(const char *key, size_t nkey, const char *value, size_t n, struct tar_pax *out)
{
	if (nkey == 4 && !memcmp(key, "path", 4)) {
		if (!n || n >= sizeof(out->path) || memchr(value, 0, n))
			return false;
		memcpy(out->path, value, n);
		out->path[n] = 0;
	} else if (nkey == 4 && !memcmp(key, "size", 4)) {
		out->size = 0;
		out->sized = n > 0;
		for (size_t i = 0; i < n; i++) {
			if (value[i] < '0' || value[i] > '9' ||
			    __builtin_mul_overflow(out->size, 10u, &out->size) ||
			    __builtin_add_overflow(out->size, (unsigned)(value[i] - '0'), &out->size))
				return false;
		}
		return n > 0;
	}
	return true;
}

bool
tar_pax(const char *records, size_t len, struct tar_pax *out)
{
	*out = (struct tar_pax){ 0 };
	for (size_t at = 0; at < len;) {
		size_t n = 0, i = at;
		const char *eq;

		for (; i < len && records[i] >= '0' && records[i] <= '9' && n <= TAR_PAX_MAX; i++)
			n = n * 10 + (size_t)(records[i] - '0');
		if (i == len || records[i] != ' ' || n > len - at || n < i - at + 3 ||
		    records[at + n - 1] != '\n')
			return false;
		i++;
		eq = memchr(records + i, '=', at + n - 1 - i);
		if (!eq || !take_record(records + i, (size_t)(eq - records) - i, eq + 1,
					(size_t)(records + at + n - 1 - (eq + 1)), out))
			return false;
		at += n;
	}
	return true;
}
