/* ed25519.h - signatures through libcrypto. */
#ifndef TBTUI_BASE_ED25519_H
#define TBTUI_BASE_ED25519_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

#define TB_ED25519_KEY 32
#define TB_ED25519_SIG 64

/* The public key of a secret one. */
enum tb_status tb_ed25519_public(const uint8_t secret[TB_ED25519_KEY], uint8_t out[TB_ED25519_KEY],
				 struct tb_err *err) TB_MUST_USE;
enum tb_status tb_ed25519_sign(const uint8_t secret[TB_ED25519_KEY], const void *data, size_t len,
			       uint8_t out[TB_ED25519_SIG], struct tb_err *err) TB_MUST_USE;
#endif
