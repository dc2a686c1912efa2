/* challenge.h - what a server says that it wants to see: the values of WWW-Authenticate. */
#ifndef TBTUI_NET_CHALLENGE_H
#define TBTUI_NET_CHALLENGE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/buf.h"

struct http_answer;

enum challenge_kind { CHALLENGE_NONE, CHALLENGE_BASIC, CHALLENGE_BEARER };

/* The best one that is understood, Bearer before Basic.  Of hostile text: look before you use. */
struct challenge {
	enum challenge_kind kind;
	struct tb_buf realm, service, scope;	/* "": not said */
	char others[128];		/* the names of those that are not understood, cleaned */
};

/* One header's text, which may have several; a second one may follow.  False: no memory. */
bool challenge_add(struct challenge *c, const char *text);
void challenge_init(struct challenge *c);
void challenge_free(struct challenge *c);
#endif
