/* team.h - threads that share one matrix after the other, thousands of times a
 * second: fork and join cost well under a microsecond while they are awake.
 *
 * A chunk is never waited for longer than it takes: completion is counted per
 * chunk, not per thread, so a core that is taken away costs time in proportion. */
#ifndef TBTUI_ENGINE_TEAM_H
#define TBTUI_ENGINE_TEAM_H

struct team;

struct team *team_new(unsigned threads);	/* incl. the caller; NULL on failure */
void team_free(struct team *t);
unsigned team_size(const struct team *t);

typedef void team_fn(void *arg, unsigned chunk, unsigned thread);
/* Calls fn once for each chunk < n; each thread starts with its own contiguous
 * range and steals when dry.  One caller at a time; not from inside a chunk. */
void team_run(struct team *t, team_fn *fn, void *arg, unsigned n);
#endif
