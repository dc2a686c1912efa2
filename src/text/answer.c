#include "config.h"

#include "src/text/answer.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/text/chat_tags.h"
#include "src/text/tool_calls.h"

#define ANSWER_MAX (64u << 20)
#define MARKS_MAX 16

enum answer_state {
	BEGINS,			/* a tag that opens thinking may come */
	THINKS,
	THOUGHT,		/* blanks behind it are not said */
	SAYS,
	CALLS,
	HEADER,			/* of a channel: up to <|message|> */
	CHANNEL,
	BETWEEN,		/* channels */
};

/* Texts of a channel end with any of them. */
static const char channel_message[] = "<|message|>", channel_start[] = "<|start|>",
		  channel_end[] = "<|end|>", channel_return[] = "<|return|>",
		  channel_call[] = "<|call|>";

struct answer {
	enum answer_state state;
	struct chat_thinking tags;
	const cJSON *tools;
	const struct chat_call_mark *marks[MARKS_MAX];
	size_t nmarks;
	const struct chat_call_mark *mark;	/* of the call on its way; NULL: one without */
	bool harmony, said;			/* said: something that is no blank */
	answer_fn *fn;
	void *arg;
	struct tb_buf held;			/* not decided yet */
	struct tb_buf text, thinking, header;
	cJSON *calls;
	size_t raw;				/* bytes that were added and are decided */
	struct { size_t raw, text; } *places;	/* where runs of the text begin */
	size_t nplaces, places_cap;
	bool failed;
};

/* ---- what comes out ---- */

static void
emit(struct answer *a, enum answer_part part, const char *s, size_t len)
{
	struct tb_buf *all = part == ANSWER_TEXT ? &a->text : &a->thinking;

	if (!len)
		return;
	if (part == ANSWER_TEXT) {
		if (tb_grow(&a->places, &a->places_cap, a->nplaces + 1, sizeof(*a->places))) {
			a->places[a->nplaces].raw = a->raw;
			a->places[a->nplaces++].text = a->text.len;
		} else {
			a->failed = true;
		}
	}
	tb_buf_add(all, s, len);
	a->fn(a->arg, part, s, len);
}

/* The first n bytes of what is held are done with. */
static void
drop_held(struct answer *a, size_t n)
{
	a->raw += n;
	a->held.len -= n;
	if (a->held.p) {
		memmove(a->held.p, a->held.p + n, a->held.len);
		a->held.p[a->held.len] = 0;
	}
}

static void
emit_held(struct answer *a, enum answer_part part, size_t n)
{
	emit(a, part, a->held.p, n);
	drop_held(a, n);
}

static size_t
blanks_held(const struct answer *a)
{
	return a->held.len ? strspn(a->held.p, " \t\r\n") : 0;
}

/* ---- tags ---- */

/* How much of the end of s may be the beginning of `tag`. */
static size_t
tag_begun(const char *s, size_t len, const char *tag)
{
	size_t n = strlen(tag);

	for (size_t k = n - 1 < len ? n - 1 : len; k; k--)
		if (!memcmp(s + len - k, tag, k))
			return k;
	return 0;
}

static const char *
tag_in(const struct answer *a, const char *tag)
{
	return a->held.len ? memmem(a->held.p, a->held.len, tag, strlen(tag)) : NULL;
}

/* Is what is held behind n blanks the tag (1), its beginning (0), or neither (-1)? */
static int
at_tag(const struct answer *a, size_t n, const char *tag)
{
	size_t len = a->held.len - n, want = strlen(tag);

	if (len >= want)
		return memcmp(a->held.p + n, tag, want) ? -1 : 1;
	return len && memcmp(a->held.p + n, tag, len) ? -1 : 0;
}

/* ---- states: each returns whether there is more to do ---- */

static bool
do_begin(struct answer *a)
{
	size_t n = blanks_held(a);
	int at = a->tags.open ? at_tag(a, n, a->tags.open) : -1;

	if (!at)
		return false;
	if (at > 0)
		drop_held(a, n + strlen(a->tags.open));
	a->state = at > 0 ? THINKS : SAYS;
	return true;
}

static bool
do_think(struct answer *a)
{
	const char *hit;
	size_t n, keep;

	if (!a->thinking.len)
		drop_held(a, blanks_held(a));
	hit = tag_in(a, a->tags.close);
	n = hit ? (size_t)(hit - a->held.p)
		: a->held.len - tag_begun(tb_buf_cstr(&a->held), a->held.len, a->tags.close);
	for (keep = n; keep && strchr(" \t\r\n", a->held.p[keep - 1]); keep--)
		;
	emit_held(a, ANSWER_THINKING, keep);
	if (!hit)
		return false;
	drop_held(a, n - keep + strlen(a->tags.close));
	a->state = THOUGHT;
	return true;
}

static bool
do_thought(struct answer *a)
{
	drop_held(a, blanks_held(a));
	if (!a->held.len)
		return false;
	a->state = SAYS;
	return true;
}

/* A call without a tag is all there is in the answer. */
static bool
bare_call(const struct answer *a)
{
	size_t n = blanks_held(a);

	return a->tools && !a->said && n < a->held.len &&
	       (a->held.p[n] == '{' || a->held.p[n] == '[');
}

static bool
do_say(struct answer *a)
{
	size_t n = a->held.len, begun = 0, k;
	const struct chat_call_mark *mark = NULL;

	for (size_t i = 0; i < a->nmarks; i++) {
		const char *hit = tag_in(a, a->marks[i]->begin);

		if (hit && (size_t)(hit - a->held.p) < n) {
			n = (size_t)(hit - a->held.p);
			mark = a->marks[i];
		}
	}
	for (size_t i = 0; i < a->nmarks && !mark; i++)
		if ((k = tag_begun(tb_buf_cstr(&a->held), a->held.len, a->marks[i]->begin)) > begun)
			begun = k;
	if (!mark && a->tools && !a->said && blanks_held(a) == a->held.len)
		return false;		/* it may begin with a call */
	if (begun && begun == a->held.len - blanks_held(a))
		return false;
	if (bare_call(a) && !(mark && !n)) {
		a->state = CALLS;
		a->mark = NULL;
		return true;
	}
	n -= mark ? 0 : begun;
	a->said |= n > (n < blanks_held(a) ? n : blanks_held(a));
	emit_held(a, ANSWER_TEXT, n);
	if (!mark)
		return false;
	a->state = CALLS;
	a->mark = mark;
	return true;
}

/* n bytes of what is held are a call, or text after all. */
static void
take_call(struct answer *a, size_t n)
{
	bool named = a->mark && (tb_starts(a->mark->begin, "<function=") ||	/* it says whose */
				 tb_starts(a->mark->begin, "<function name="));
	size_t skip = a->mark && !named ? strlen(a->mark->begin) : 0;
	size_t len = n - skip;

	if (a->mark && a->mark->end && len >= strlen(a->mark->end) &&
	    !memcmp(a->held.p + n - strlen(a->mark->end), a->mark->end, strlen(a->mark->end)))
		len -= strlen(a->mark->end);
	if (tool_calls_read(a->held.p + skip, len, a->tools, !a->mark, a->calls))
		drop_held(a, n);
	else
		emit_held(a, ANSWER_TEXT, n);
	a->said = true;
	a->state = SAYS;
}

static bool
do_call(struct answer *a)
{
	const char *hit = NULL;

	if (a->mark && a->mark->end && a->held.len > strlen(a->mark->begin))
		hit = memmem(a->held.p + strlen(a->mark->begin),
			     a->held.len - strlen(a->mark->begin), a->mark->end,
			     strlen(a->mark->end));
	if (!hit)
		return false;
	take_call(a, (size_t)(hit - a->held.p) + strlen(a->mark->end));
	return true;
}

/* ---- channels: <|channel|>NAME<|message|>TEXT<|end|><|start|>ROLE… ---- */

/* How its first header may begin; else it does not keep to channels at all: 1, 0, -1 as at_tag(). */
static int
at_header(const struct answer *a)
{
	static const char *const begins[] = { "<|channel|>", channel_message, "to=", "assistant",
					      channel_start };
	int best = -1;

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++) {
		int at = at_tag(a, blanks_held(a), begins[i]);

		best = at > best ? at : best;
	}
	return best;
}

static bool
do_header(struct answer *a)
{
	const char *hit;

	if (!a->said && at_header(a) <= 0) {
		a->state = at_header(a) < 0 ? SAYS : HEADER;
		return a->state == SAYS;
	}
	a->said = true;
	if (!(hit = tag_in(a, channel_message)))
		return false;
	tb_buf_clear(&a->header);
	tb_buf_add(&a->header, a->held.p, (size_t)(hit - a->held.p));
	drop_held(a, (size_t)(hit - a->held.p) + strlen(channel_message));
	a->state = CHANNEL;
	return true;
}

/* The name behind "to=functions.", "" if the channel calls nothing. */
static size_t
called(const struct answer *a, const char **name)
{
	const char *s = strstr(tb_buf_cstr(&a->header), "to=functions.");

	*name = s ? s + strlen("to=functions.") : "";
	return strcspn(*name, " <\t\n");
}

static void
take_channel_call(struct answer *a, const char *name, size_t name_len, size_t n)
{
	struct tb_buf call = TB_BUF(ANSWER_MAX);

	tb_buf_str(&call, "{\"name\":\"");
	tb_buf_add(&call, name, name_len);
	tb_buf_str(&call, "\",\"arguments\":");
	tb_buf_add(&call, a->held.p, n);
	tb_buf_chr(&call, '}');
	if (!tb_buf_failed(&call) &&
	    tool_calls_read(call.p, call.len, a->tools, false, a->calls))
		drop_held(a, n);
	else
		emit_held(a, ANSWER_TEXT, n);
	tb_buf_free(&call);
}

/* n bytes are of the channel; those of a call are kept until it is whole. */
static void
say_in_channel(struct answer *a, size_t n, bool whole)
{
	const char *name, *header = tb_buf_cstr(&a->header);
	size_t len = called(a, &name);
	bool thinks = strstr(header, "analysis") && !len;

	if (len && a->tools) {
		if (whole)
			take_channel_call(a, name, len, n);
		return;
	}
	if (thinks)
		while (n && strchr(" \t\r\n", a->held.p[n - 1]))
			n--;
	emit_held(a, thinks ? ANSWER_THINKING : ANSWER_TEXT, n);
}

static bool
do_channel(struct answer *a)
{
	static const char *const ends[] = { channel_end, channel_return, channel_call,
					    channel_start };
	size_t n = a->held.len, begun = 0, k;
	const char *which = NULL, *hit;

	for (size_t i = 0; i < 4; i++)
		if ((hit = tag_in(a, ends[i])) && (size_t)(hit - a->held.p) < n) {
			n = (size_t)(hit - a->held.p);
			which = ends[i];
		}
	for (size_t i = 0; i < 4 && !which; i++)
		if ((k = tag_begun(tb_buf_cstr(&a->held), a->held.len, ends[i])) > begun)
			begun = k;
	say_in_channel(a, n - begun, which != NULL);
	if (!which)
		return false;
	hit = tag_in(a, which);
	drop_held(a, (size_t)(hit - a->held.p) + (which == channel_start ? 0 : strlen(which)));
	a->state = BETWEEN;
	return true;
}

static bool
do_between(struct answer *a)
{
	size_t n = blanks_held(a);
	int at = at_tag(a, n, channel_start);

	if (!at)
		return false;
	if (at > 0)
		drop_held(a, n + strlen(channel_start));
	a->state = at > 0 ? HEADER : SAYS;
	return true;
}

/* ---- the whole ---- */

static bool
do_state(struct answer *a)
{
	static bool (*const states[])(struct answer *) = {
		[BEGINS] = do_begin, [THINKS] = do_think, [THOUGHT] = do_thought, [SAYS] = do_say,
		[CALLS] = do_call, [HEADER] = do_header, [CHANNEL] = do_channel,
		[BETWEEN] = do_between,
	};

	return states[a->state](a);
}

void
answer_add(struct answer *a, const char *text, size_t len)
{
	tb_buf_add(&a->held, text, len);
	while (!tb_buf_failed(&a->held) && do_state(a))
		;
}

/* What is held is what it is now. */
void
answer_end(struct answer *a)
{
	size_t n = a->held.len;

	if (!n || tb_buf_failed(&a->held))
		return;
	if (a->state == CALLS)
		take_call(a, n);
	else if (a->state == CHANNEL)
		say_in_channel(a, n, true);
	else if (a->state == THINKS)
		emit_held(a, ANSWER_THINKING, n);
	emit_held(a, ANSWER_TEXT, a->held.len);
}

static bool
ends_with_open(const char *prompt, const char *open)
{
	size_t len = strlen(prompt), n = strlen(open);

	while (len && strchr(" \t\r\n", prompt[len - 1]))
		len--;
	return len >= n && !memcmp(prompt + len - n, open, n);
}

const char *
answer_thinks(const struct chat_template *t, const char *prompt)
{
	struct chat_thinking tags = t ? chat_template_thinking(t) : (struct chat_thinking){ NULL, NULL };

	return tags.open && tags.close && ends_with_open(prompt, tags.open) ? tags.close : NULL;
}

enum tb_status
answer_new(struct answer **out, const struct chat_template *t, const cJSON *tools,
	   const char *prompt, answer_fn *fn, void *arg, struct tb_err *err)
{
	struct answer *a = tb_calloc(1, sizeof(*a));

	*out = a;
	if (!a)
		return tb_nomem(err);
	a->fn = fn;
	a->arg = arg;
	a->tools = json_first(tools) ? tools : NULL;
	a->held = a->text = a->thinking = a->header = TB_BUF(ANSWER_MAX);
	a->calls = json_array();
	if (t)
		a->tags = chat_template_thinking(t);
	if (!a->tags.close)
		a->tags.open = NULL;
	a->harmony = t && chat_template_harmony(t);
	for (size_t i = 0; t && a->tools && i < MARKS_MAX; i++)
		if ((a->marks[a->nmarks] = chat_template_call_mark(t, i)))
			a->nmarks++;
		else
			break;
	if (a->harmony)
		a->state = ends_with_open(prompt, channel_message) ? CHANNEL : HEADER;
	else
		a->state = a->tags.open && ends_with_open(prompt, a->tags.open) ? THINKS
			 : a->tags.open ? BEGINS : SAYS;
	return TB_OK;
}

void
answer_free(struct answer *a)
{
	if (!a)
		return;
	tb_buf_free(&a->held);
	tb_buf_free(&a->text);
	tb_buf_free(&a->thinking);
	tb_buf_free(&a->header);
	json_free(a->calls);
	free(a->places);
	free(a);
}

const char *
answer_text(const struct answer *a)
{
	return tb_buf_cstr(&a->text);
}

const char *
answer_thinking(const struct answer *a)
{
	return a->thinking.len ? a->thinking.p : NULL;
}

char *
answer_calls(const struct answer *a)
{
	return json_first(a->calls) ? json_print(a->calls) : NULL;
}

enum tb_status
answer_status(const struct answer *a, struct tb_err *err)
{
	if (a->failed || tb_buf_failed(&a->held) || tb_buf_failed(&a->text) ||
	    tb_buf_failed(&a->thinking))
		return a->held.over || a->text.over || a->thinking.over
			? tb_fail(err, TB_ELIMIT, "the answer: over %u bytes", ANSWER_MAX)
			: tb_nomem(err);
	return TB_OK;
}

size_t
answer_place(const struct answer *a, size_t at)
{
	size_t end, place;

	for (size_t i = a->nplaces; i; i--) {
		if (a->places[i - 1].raw > at)
			continue;
		end = i < a->nplaces ? a->places[i].text : a->text.len;
		place = a->places[i - 1].text + (at - a->places[i - 1].raw);
		return place < end ? place : end;
	}
	return 0;
}

const char *
answer_tag(const struct chat_template *t, bool tools, size_t i)
{
	struct chat_thinking tags = chat_template_thinking(t);
	const struct chat_call_mark *mark;

	if (chat_template_harmony(t))
		return i ? NULL : channel_message;
	if (!tags.open || !tags.close)
		i += 2;
	if (i < 2)
		return i ? tags.close : tags.open;
	i -= 2;
	mark = tools ? chat_template_call_mark(t, i / 2) : NULL;
	return !mark ? NULL : i % 2 && mark->end ? mark->end : mark->begin;
}
