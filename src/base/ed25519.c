#include "config.h"

#include "src/base/ed25519.h"

#include <openssl/evp.h>

static enum tb_status
no_ed25519(struct tb_err *err)
{
	return tb_fail(err, TB_EUNSUP, "this machine's libcrypto cannot sign with ed25519");
}

enum tb_status
tb_ed25519_public(const uint8_t secret[TB_ED25519_KEY], uint8_t out[TB_ED25519_KEY],
		  struct tb_err *err)
{
	EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret, TB_ED25519_KEY);
	size_t n = TB_ED25519_KEY;
	int ok = key && EVP_PKEY_get_raw_public_key(key, out, &n) == 1 && n == TB_ED25519_KEY;

	EVP_PKEY_free(key);
	return ok ? TB_OK : no_ed25519(err);
}

enum tb_status
tb_ed25519_sign(const uint8_t secret[TB_ED25519_KEY], const void *data, size_t len,
		uint8_t out[TB_ED25519_SIG], struct tb_err *err)
{
	EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret, TB_ED25519_KEY);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t n = TB_ED25519_SIG;
	int ok = key && ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) == 1 &&
		 EVP_DigestSign(ctx, out, &n, data, len) == 1 && n == TB_ED25519_SIG;

	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
	return ok ? TB_OK : no_ed25519(err);
}
