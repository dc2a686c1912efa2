/* go_walk.c - what a Go template's tree says of itself: which fields it names, and where the
 * answer stands in it. */
#include "config.h"

#include <string.h>
#include <strings.h>

#include "src/text/go.h"

static void
uses_name(const char *name, struct go_template *out)
{
	out->messages |= !strcasecmp(name, "Messages");
	out->response |= !strcasecmp(name, "Response");
	out->tools |= !strcasecmp(name, "Tools");
	out->calls |= !strcasecmp(name, "ToolCalls");
}

/* Fields behind parentheses are not looked at, as Ollama does not. */
void
go_uses(const struct go_node *n, struct go_template *out)
{
	for (size_t i = 0; i < n->nnames && n->type != GN_CHAIN; i++)
		uses_name(n->names[i], out);
	for (const struct go_node *i = n->first; i; i = i->next)
		go_uses(i, out);
	if (n->pipe && n->type != GN_CHAIN)
		go_uses(n->pipe, out);
	if (n->body)
		go_uses(n->body, out);
	if (n->other)
		go_uses(n->other, out);
}

/* True: n itself goes.  A command without operands takes its whole pipeline along, and that
 * its action. */
static bool
mark_response(struct go_node *n, bool *seen)
{
	bool none;

	if (*seen)
		return n->dropped = true;
	switch (n->type) {
	case GN_FIELD:
		for (size_t i = 0; i < n->nnames; i++)
			*seen |= !strcmp(n->names[i], "Response");
		return false;
	case GN_LIST:
		for (struct go_node *i = n->first; i; i = i->next)
			(void)mark_response(i, seen);
		return false;
	case GN_IF:
	case GN_WITH:
	case GN_RANGE:
		(void)mark_response(n->body, seen);
		if (n->other)
			(void)mark_response(n->other, seen);
		return false;
	case GN_ACTION:
		return n->dropped = mark_response(n->pipe, seen);
	case GN_PIPE:
		for (struct go_node *cmd = n->first; cmd; cmd = cmd->next) {
			none = true;
			for (struct go_node *i = cmd->first; i; i = i->next)
				none &= mark_response(i, seen);
			if (none)
				return n->dropped = true;
		}
		return false;
	default:
		return false;
	}
}

void
go_mark_response(struct go_node *n)
{
	bool seen = false;

	(void)mark_response(n, &seen);
}
