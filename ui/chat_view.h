/* chat_view.h - for the files of the chat's screen alone: view_chat.c (what is sent),
 * chat_keys.c, chat_draw.c. */
#ifndef TBTUI_UI_CHAT_VIEW_H
#define TBTUI_UI_CHAT_VIEW_H

#include "src/face/talk.h"
#include "ui/beside.h"
#include "ui/strip.h"
#include "ui/transcript.h"
#include "ui/view.h"
#include "ui/waiting.h"

struct chat_view {
	struct talk *talk;		/* NULL until the model is loaded */
	int64_t session;		/* that it was opened on; 0: a new one */
	struct transcript text;
	struct strip strip;
	struct beside beside;
	char *draft;			/* typed and not sent; owned; NULL = nothing */
	struct chips chips;		/* long texts of the draft and of what waits */
	struct waiting waiting;
	size_t start;			/* of the transcript: what was there at first */
	struct ui_job *working;		/* what was sent last; NULL = nobody speaks */
	uint64_t editing;		/* the turn that "/edit" in the line is about; 0: the last */
	bool fresh;			/* nothing of its answer has come yet */
	struct gen_figures figures;	/* of the last answer */
	char speaker[256];		/* who answers: a call at work may exchange it */
	char error[512];
};

bool chat_may_speak(const struct chat_view *s);		/* it is there, and silent */
bool chat_stop(struct chat_view *s);	/* whoever speaks; false: nobody does */
void chat_type(struct view *v);
void chat_begin_call(struct view *v, struct talk_call *c);	/* which is taken */

bool chat_act(struct view *v, enum action a);
bool chat_can(const struct view *v, enum action a);
const char *chat_word(const struct view *v, enum action a);

void chat_draw(struct view *v, struct area a);
void chat_summary(struct view *v, struct tb_buf *out);
void chat_where(struct view *v, struct tb_buf *out);
#endif
