#include "config.h"

#include "src/net/ssh_key.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/base64.h"
#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/net/key.h"

#define FILE_MAX 65536u
#define HEAD "-----BEGIN OPENSSH PRIVATE KEY-----"
#define TAIL "-----END OPENSSH PRIVATE KEY-----"
#define MAGIC "openssh-key-v1"			/* and its NUL */
#define KIND "ssh-ed25519"

/* What is left to read: numbers of 4 bytes, the first is the greatest; strings with their
 * length in front. */
struct packed {
	const uint8_t *p;
	size_t left;
	bool bad;
};

static uint32_t
take_number(struct packed *s)
{
	uint32_t v;

	if (s->left < 4) {
		s->bad = true;
		return 0;
	}
	v = (uint32_t)s->p[0] << 24 | (uint32_t)s->p[1] << 16 | (uint32_t)s->p[2] << 8 | s->p[3];
	s->p += 4;
	s->left -= 4;
	return v;
}

static struct packed
take_string(struct packed *s)
{
	uint32_t n = take_number(s);
	struct packed out = { .p = s->p, .left = n };

	if (s->bad || n > s->left) {
		s->bad = true;
		return (struct packed){ .p = s->p, .bad = true };
	}
	s->p += n;
	s->left -= n;
	return out;
}

static bool
says_word(const struct packed *s, const char *word)
{
	return s->left == strlen(word) && !memcmp(s->p, word, s->left);
}

/* The part that a passphrase would hide: twice the same number, the key, a comment. */
static enum tb_status
read_secret(struct ssh_key *k, struct packed s, const char *what, struct tb_err *err)
{
	uint32_t a = take_number(&s), b = take_number(&s);
	struct packed kind = take_string(&s), open, secret;
	uint8_t made[TB_ED25519_KEY];
	enum tb_status status;

	if (!s.bad && a == b && !says_word(&kind, KIND))
		return tb_fail(err, TB_EUNSUP, "%s: a key of another kind (%.*s); ed25519 is wanted", what,
			       (int)(kind.left < 40 ? kind.left : 40), (const char *)kind.p);
	open = take_string(&s);
	secret = take_string(&s);
	if (s.bad || a != b || open.left != TB_ED25519_KEY ||
	    secret.left != (size_t)2 * TB_ED25519_KEY)
		return tb_fail(err, TB_EFORMAT, "%s: damaged: its parts do not fit", what);
	memcpy(k->secret, secret.p, TB_ED25519_KEY);
	memcpy(k->open, open.p, TB_ED25519_KEY);
	status = tb_ed25519_public(k->secret, made, err);
	if (!status && memcmp(made, k->open, sizeof(made)))
		status = tb_fail(err, TB_EFORMAT, "%s: damaged: its public key is not that of its"
				 " secret one", what);
	return status;
}

static enum tb_status
read_packed(struct ssh_key *k, struct packed s, const char *what, struct tb_err *err)
{
	struct packed cipher, open, secret;
	enum tb_status status;

	if (s.left < sizeof(MAGIC) || memcmp(s.p, MAGIC, sizeof(MAGIC)))
		return tb_fail(err, TB_EFORMAT, "%s: no OpenSSH key", what);
	s.p += sizeof(MAGIC);
	s.left -= sizeof(MAGIC);
	cipher = take_string(&s);
	take_string(&s);		/* how the passphrase is stretched, and with what */
	take_string(&s);
	if (!s.bad && !says_word(&cipher, "none"))
		return tb_fail(err, TB_EUNSUP, "%s: it has a passphrase, which cannot be asked for here;"
			       " ssh-keygen -p -f %s takes it away", what, what);
	if (take_number(&s) != 1 || s.bad)
		return tb_fail(err, TB_EFORMAT, "%s: not one key", what);
	open = take_string(&s);		/* its kind and the key */
	secret = take_string(&s);
	if (s.bad || open.left < TB_ED25519_KEY)
		return tb_fail(err, TB_EFORMAT, "%s: damaged: it ends early", what);
	status = read_secret(k, secret, what, err);
	if (!status && memcmp(open.p + open.left - TB_ED25519_KEY, k->open, TB_ED25519_KEY))
		status = tb_fail(err, TB_EFORMAT, "%s: damaged: it has two public keys", what);
	return status;
}

static void
wipe_buf(struct tb_buf *b)
{
	if (b->p)
		explicit_bzero(b->p, b->cap);
	tb_buf_free(b);
}

enum tb_status
ssh_key_parse(struct ssh_key *k, const char *text, size_t len, const char *what,
	      struct tb_err *err)
{
	const char *head = memmem(text, len, HEAD, strlen(HEAD)), *tail;
	struct tb_buf packed = TB_BUF(FILE_MAX);
	enum tb_status status;

	*k = (struct ssh_key){ 0 };
	if (!head)
		return tb_fail(err, TB_EFORMAT, "%s: no OpenSSH private key", what);
	head += strlen(HEAD);
	tail = memmem(head, len - (size_t)(head - text), TAIL, strlen(TAIL));
	if (!tail || !tb_base64_read(&packed, head, (size_t)(tail - head)))
		status = tb_fail(err, TB_EFORMAT, "%s: damaged: no OpenSSH private key in base64", what);
	else
		status = read_packed(k, (struct packed){ .p = (const uint8_t *)tb_buf_cstr(&packed),
							 .left = packed.len }, what, err);
	wipe_buf(&packed);
	if (status)
		ssh_key_wipe(k);
	return status;
}

enum tb_status
ssh_key_read(struct ssh_key *k, const char *path, struct tb_err *err)
{
	enum tb_status status = api_key_private(path, err);
	char *text = NULL;
	size_t len = 0;

	*k = (struct ssh_key){ 0 };
	if (!status)
		status = tb_file_slurp(path, FILE_MAX, &text, &len, err);
	if (status)
		return status;
	status = ssh_key_parse(k, text, len, path, err);
	explicit_bzero(text, len);
	free(text);
	return status;
}

static void
put_string(struct tb_buf *out, const void *p, uint8_t n)
{
	const uint8_t length[4] = { 0, 0, 0, n };

	tb_buf_add(out, length, sizeof(length));
	tb_buf_add(out, p, n);
}

enum tb_status
ssh_key_sign(const struct ssh_key *k, const char *data, char **out, struct tb_err *err)
{
	struct tb_buf packed = TB_BUF(200), text = TB_BUF(1000);
	uint8_t sig[TB_ED25519_SIG];
	enum tb_status status = tb_ed25519_sign(k->secret, data, strlen(data), sig, err);

	*out = NULL;
	if (status)
		return status;
	put_string(&packed, KIND, sizeof(KIND) - 1);
	put_string(&packed, k->open, sizeof(k->open));
	tb_base64(&text, tb_buf_cstr(&packed), packed.len);
	tb_buf_chr(&text, ':');
	tb_base64(&text, sig, sizeof(sig));
	if (!tb_buf_failed(&packed))
		*out = tb_buf_take(&text);
	tb_buf_free(&packed);
	tb_buf_free(&text);
	return *out ? TB_OK : tb_nomem(err);
}

char *
ssh_key_ollama(void)
{
	const char *home = getenv("HOME");

	return home && *home == '/' ? tb_path_join(home, ".ollama/id_ed25519") : tb_strdup("");
}

void
ssh_key_wipe(struct ssh_key *k)
{
	explicit_bzero(k, sizeof(*k));
}
