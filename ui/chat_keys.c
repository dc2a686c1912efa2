/* chat_keys.c - the chat's keys while nobody types. */
#include "config.h"

#include "src/base/text.h"
#include "ui/chat_view.h"
#include "ui/clip.h"

/* What the keys move: the second model's answers, after Tab. */
static struct transcript *
focused(struct chat_view *s)
{
	return s->beside.focus ? &s->beside.text : &s->text;
}

/* The strip shows the answer with the cursor, or the one that came last. */
static void
strip_follow(struct chat_view *s)
{
	const struct said *turn = transcript_turn(&s->text, SAID_MODEL);

	if (turn)
		(void)strip_show(&s->strip, turn->id);
}

/* Another answer, which goes on from the alternative under the cursor. */
static void
go_on_from(struct view *v)
{
	struct chat_view *s = v->state;
	size_t n;
	uint32_t *ids = chat_may_speak(s) ? strip_chosen(&s->strip, &n) : NULL;
	struct talk_call *c;

	if (!ids) {
		view_say(v, chat_may_speak(s) ? "That is what it said: Up and Down go to what else "
			 "was likely." : "It still speaks: x stops it.");
		return;
	}
	c = talk_call_continue(s->talk, s->strip.turn, ids, n);
	if (c)
		chat_begin_call(v, c);
}

static bool
strip_key(struct view *v, enum action a)
{
	struct chat_view *s = v->state;

	if (a == ACT_STRIP || (a == ACT_BACK && s->strip.on && !s->working)) {
		s->strip.on = !s->strip.on;
		if (s->strip.on)
			strip_follow(s);
		return true;
	}
	if (!s->strip.on)
		return false;
	if (a == ACT_OPEN)
		go_on_from(v);
	return a == ACT_OPEN || strip_act(&s->strip, a);
}

/* Whoever speaks.  false: nobody does. */
bool
chat_stop(struct chat_view *s)
{
	bool second = beside_stop(&s->beside);

	if (s->working)
		jobs_cancel(s->working);
	return s->working || second;
}

/* A second model, which is named first; or there is one: it goes. */
static void
second(struct view *v)
{
	struct chat_view *s = v->state;

	if (*s->beside.name)
		beside_close(&s->beside);
	else if (s->talk)
		beside_name(v, &s->beside, s->talk);
}

static void
copy(struct view *v, bool code)
{
	struct chat_view *s = v->state;
	char what[64];
	size_t len;
	struct transcript *t = focused(s);
	const char *text = code ? transcript_copy_code(t, &len, what)
				: transcript_copy(t, &len, what);

	if (text)
		clip_copy(v, what, text, len);
	else
		view_say(v, code ? "There is no block of code there." : "Nothing was answered yet.");
}

/* A command about the turn under the cursor, where there is one of theirs. */
static void
command_about(struct view *v, const char *line, enum said_by by)
{
	struct chat_view *s = v->state;
	const struct said *turn = s->text.cur < s->text.n ? transcript_turn(&s->text, by) : NULL;
	struct talk_call *c;

	if (!chat_may_speak(s)) {
		view_say(v, s->talk ? "It still speaks: x stops it." : "Still loading.");
		return;
	}
	if (!(c = talk_call_new(s->talk, line)))
		return;
	c->turn = turn ? turn->id : 0;
	s->editing = by == SAID_PERSON ? c->turn : 0;
	chat_begin_call(v, c);
}

static bool
act_on_turn(struct view *v, enum action a)
{
	switch (a) {
	case ACT_REGEN: command_about(v, "/regen", SAID_NOTE); return true;
	case ACT_EDIT_TURN: command_about(v, "/edit", SAID_PERSON); return true;
	case ACT_SIBLING_BEFORE: command_about(v, "/other back", SAID_NOTE); return true;
	case ACT_SIBLING_AFTER: command_about(v, "/other", SAID_NOTE); return true;
	case ACT_FORK: command_about(v, "/fork", SAID_NOTE); return true;
	case ACT_TAKE_BACK: command_about(v, "/undo", SAID_NOTE); return true;
	case ACT_TEMPLATE: command_about(v, "/template", SAID_NOTE); return true;
	default: return false;
	}
}

bool
chat_act(struct view *v, enum action a)
{
	struct chat_view *s = v->state;
	struct pager *p = &focused(s)->pager;

	if (*s->error)
		return false;
	if (strip_key(v, a))
		return true;
	if (act_on_turn(v, a))
		return true;
	switch (a) {
	case ACT_OPEN:
	case ACT_TYPE:
		chat_type(v);
		return true;
	case ACT_STOP:
	case ACT_BACK:
		return chat_stop(s) || a == ACT_STOP;
	case ACT_SECOND:
		second(v);
		return true;
	case ACT_DIFFERENCE:
		if (chat_may_speak(s))
			s->working = beside_compare(v, &s->beside);
		else
			view_say(v, "It still speaks: x stops it.");
		return true;
	case ACT_NEXT_PANE:
	case ACT_PREV_PANE:
		s->beside.focus = *s->beside.name && !s->beside.focus;
		return true;
	case ACT_TURN_BEFORE:
	case ACT_TURN_AFTER:
		transcript_step(focused(s), a == ACT_TURN_BEFORE ? -1 : 1);
		strip_follow(s);
		return true;
	case ACT_MARK:	/* Space, which marks nothing here */
		if (!transcript_fold(focused(s)))
			view_say(v, "Nothing was thought there.");
		return true;
	case ACT_COPY_ANSWER:
	case ACT_COPY_CODE:
		copy(v, a == ACT_COPY_CODE);
		return true;
	case ACT_LAST:
		p->follow = true;
		return false;
	case ACT_DOWN:
	case ACT_PAGE_DOWN:
	case ACT_HALF_DOWN:
		p->follow = p->top + p->height + (a == ACT_DOWN ? 1 : p->height) > p->nlines;
		return false;
	case ACT_UP:
	case ACT_PAGE_UP:
	case ACT_HALF_UP:
	case ACT_FIRST:
		p->follow = false;
		return false;
	default:
		return false;
	}
}

bool
chat_can(const struct view *v, enum action a)
{
	const struct chat_view *s = v->state;

	switch (a) {
	case ACT_STOP: return s->working || s->beside.working;
	case ACT_TURN_BEFORE:
	case ACT_COPY_ANSWER: return transcript_said(&s->text);
	case ACT_DIFFERENCE: return s->beside.other && !s->working;
	case ACT_COPY_CODE: return transcript_has_code(&s->text);
	case ACT_REGEN:
	case ACT_EDIT_TURN:
	case ACT_FORK:
	case ACT_TAKE_BACK: return transcript_said(&s->text) && !s->working;
	case ACT_SIBLING_BEFORE:
	case ACT_SIBLING_AFTER: return transcript_versions(&s->text);
	default: return !*s->error;
	}
}

const char *
chat_word(const struct view *v, enum action a)
{
	const struct chat_view *s = v->state;

	return a == ACT_OPEN && s->strip.on ? "go on from it" : NULL;
}
