/* fetch_world.h - a server in memory: things made of random bytes, and what is wrong with it. */
#ifndef TBTUI_TESTS_FETCH_WORLD_H
#define TBTUI_TESTS_FETCH_WORLD_H

#include <pthread.h>

#include "src/net/patience.h"
#include "src/ops/fetch/fetch_parts.h"

#define WORLD_PART (64u << 10)
#define WORLD_MAX 40

enum fault {
	NONE, CUT, SHORT, WRONG, WRONG_ALWAYS, LONGER, BUSY, GONE, WHOLE, STALL, CRAWL, CANCEL, KILL,
};

extern struct world {
	struct fetch_item items[WORLD_MAX];
	uint8_t *data[WORLD_MAX];
	size_t n;
	enum fault fault;
	int times;			/* that it strikes; -1: always */
	uint64_t after;			/* bytes, of a request or (CANCEL, KILL) of all */
	uint64_t sent;
	unsigned asked;
	struct http *crawled;
	bool other_connection;
	struct tb_job *job;
	pthread_mutex_t lock;
	const char *blobs;		/* where Ollama's files are; NULL */
	char dir[4096];			/* the folder; of each world its own */
} world;

void world_nap(double seconds);
/* n things, whose sizes follow from `size`. */
void world_new(size_t n, uint64_t size, uint64_t seed);
uint64_t world_size(void);
struct fetch *world_fetch(const char *note, unsigned streams);
void world_is_right(const struct fetch *f);
/* How many names in the folder have that in them. */
size_t world_names(const char *part);
/* Runs to its end, and takes it: the bytes that came. */
uint64_t world_run(unsigned streams);
#endif
