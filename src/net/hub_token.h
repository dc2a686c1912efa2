/* hub_token.h - the token of a Hugging Face hub, from where `hf` keeps it:
 *	$HF_TOKEN, $HUGGING_FACE_HUB_TOKEN
 *	$HF_TOKEN_PATH, $HF_HOME/token, $XDG_CACHE_HOME/huggingface/token,
 *	~/.cache/huggingface/token
 * It is shown to https://huggingface.co and to $HF_ENDPOINT alone, through TLS or on this
 * machine. */
#ifndef TBTUI_NET_HUB_TOKEN_H
#define TBTUI_NET_HUB_TOKEN_H

#include "src/base/err.h"

struct url;

/* The value of Authorization; NULL: there is none, or it is not for that server. */
enum tb_status hub_token_find(const struct url *u, char **out, struct tb_err *err) TB_MUST_USE;
void hub_token_free(char *auth);	/* wiped; NULL is fine */
#endif
