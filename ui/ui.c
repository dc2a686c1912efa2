/* ui.c - starts and ends the full-screen program. */
#include "config.h"

#include "ui/ui.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/db.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "src/ops/chat/chat.h"
#include "src/ops/home/home.h"
#include "ui/away.h"
#include "ui/loop.h"
#include "ui/setup.h"
#include "ui/term.h"

static enum tb_status
wake_open(struct ui *ui, struct tb_err *err)
{
	if (pipe(ui->wake))
		return tb_fail_errno(err, "pipe");
	for (int i = 0; i < 2; i++) {
		int flags = fcntl(ui->wake[i], F_GETFL);

		if (flags < 0 || fcntl(ui->wake[i], F_SETFL, flags | O_NONBLOCK) < 0 ||
		    fcntl(ui->wake[i], F_SETFD, FD_CLOEXEC) < 0)
			return tb_fail_errno(err, "pipe");
	}
	return TB_OK;
}

/* A listed job has ended: say so, and read again what it changed. */
static void
job_ended(void *user, const struct ui_job *j)
{
	struct ui *ui = user;

	if (j->progress.state == TB_JOB_FAILED)
		ui_say(ui, ROLE_ERROR, "%s: %s", j->title, j->progress.err.msg);
	else if (j->progress.state == TB_JOB_CANCELLED)
		ui_say(ui, ROLE_TEXT, "%s: cancelled%s%s", j->title, j->result ? "; " : "",
		       j->result ? j->result : "");
	else if (!*ui->message || ui->message_role != ROLE_ERROR)	/* that is worth more */
		ui_say(ui, ROLE_TEXT, "%s: %s", j->title, j->result ? j->result : "done");
	if (j->ops->flags & JOB_CHANGES)
		ui_refresh(ui);
}

/* The first thing that the configuration file has wrong. */
static void
tell_config(struct ui *ui)
{
	const struct config *c = &ui->ctx->config;
	struct tb_buf line = TB_BUF(1u << 16), shown = TB_BUF(1u << 16);

	if (c->nwrong) {
		tb_buf_add(&line, c->wrong.p, strcspn(tb_buf_cstr(&c->wrong), "\n"));
		word_path(tb_buf_cstr(&line), &shown);
		ui_say(ui, ROLE_ERROR, "%s", tb_buf_cstr(&shown));
	}
	tb_buf_free(&line);
	tb_buf_free(&shown);
}

static enum tb_status
start(struct ui *ui, struct tb_err *err)
{
	enum tb_status status;

	jobs_init(&ui->jobs, -1);
	status = db_open_read(&ui->db, ui->ctx->db_path, err);
	if (!status)
		status = wake_open(ui, err);
	if (!status)
		status = term_start(ui->wake[1], err);
	if (status)
		return status;
	theme_locale();
	setup(&ui->ctx->config);
	theme_init(ui->ctx->mono);
	jobs_init(&ui->jobs, ui->wake[1]);
	ui->jobs.user = ui;
	ui->jobs.ended = job_ended;
	ui_open(ui, VIEW_MODELS, NULL);
	if (!ui->top)
		return tb_fail(err, TB_EDB, "%s", ui->message);
	tell_config(ui);
	return TB_OK;
}

int
ui_main(struct op_ctx *ctx, const struct model_loc *open)
{
	struct ui ui = { .ctx = ctx, .wake = { -1, -1 }, .test = getenv("TBTUI_TEST") != NULL };
	struct tb_err err = { 0 };
	char clean[sizeof(err.msg) * 2];
	enum tb_status status = start(&ui, &err);

	if (!status && open)
		ui_open(&ui, *open->path && speaker_is_remote(open->path) ? VIEW_CHAT : VIEW_MODEL,
			&(struct view_arg){ .model = open });
	if (!status)
		loop_run(&ui);
	ui_close_all(&ui);
	paste_end(&ui.paste);
	jobs_free(&ui.jobs);
	away_free_all(&ui);
	prompt_free();
	term_stop();
	db_close(ui.db);
	for (int i = 0; i < 2; i++)
		if (ui.wake[i] >= 0)
			close(ui.wake[i]);
	if (!status && term_signal())
		term_die(term_signal());
	if (status)
		fprintf(stderr, "tbtui: %s\n", tb_text_clean(err.msg, clean, sizeof(clean)));
	return status ? 2 : 0;
}
