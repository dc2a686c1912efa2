/* fetch_parts.h - what the parts of a fetch share. */
#ifndef TBTUI_OPS_FETCH_PARTS_H
#define TBTUI_OPS_FETCH_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "src/base/job.h"
#include "src/ops/fetch/fetch.h"

#define DONE_SUFFIX ".done"
#define PARTS_SUFFIX ".parts"
#define LIST_PREFIX "list-"
#define FETCH_NAME_MAX 96

struct fetch_part {
	uint64_t off, len;
	uint64_t got;			/* its loader's own while it is taken */
	uint64_t ready;			/* of that, what others may read; under the lock */
	bool taken;			/* by a loader, or complete */
};

struct fetch_file {
	struct fetch_item it;		/* what: owned */
	char name[FETCH_NAME_MAX];	/* in the folder */
	char *path;			/* when it is done; owned */
	size_t same;			/* the item whose file it is: itself, or an earlier one */

	/* While it is open, by `users` threads; the last of them decides what is next. */
	int fd, parts_fd;		/* -1: none */
	struct fetch_part *parts;	/* owned */
	size_t nparts, next, front;	/* the first that may be free, or not be complete */
	bool stream;			/* in one piece, hashed as it comes */
	unsigned users;
	struct tb_sha256 hash;
	uint64_t hashed;
	bool hashing;			/* by one of the users */

	atomic_bool whole;		/* the server knows no ranges */
	unsigned wrong;			/* times that all bytes were there, and not the right ones */
	atomic_uint slow;		/* times that it was begun anew for its slowness */
	double not_before;		/* when it may be tried again */
	enum fetch_state state;		/* under the lock, as is what follows */
	uint64_t there;
	atomic_uint_fast64_t got;	/* by this run, of what still counts */
	uint64_t seen;			/* of got, when the rate was last looked at */
	double rate;
	char why[200];
};

struct fetch_worker {
	struct fetch *f;
	pthread_t id;
	unsigned n;
	atomic_uint_fast64_t rate;	/* of its last seconds; 0: not known */
};

struct fetch {
	struct fetch_source source;
	struct fetch_opts opts;
	char *dir, *note, *blobs;	/* owned */
	int dir_fd, list_fd;		/* -1: none */
	char list[FETCH_NAME_MAX];	/* of this run, in the folder; "" before it */
	struct fetch_file **files;	/* owned */
	size_t n, cap;
	uint32_t *slots;		/* the files by name; see TB_SLOT(); owned */
	size_t nslots;
	atomic_uint_fast64_t moved;

	pthread_mutex_t lock;		/* what follows, and where it says so */
	pthread_cond_t more;		/* something to do, or all is done */
	pthread_cond_t ended;		/* a worker has */
	size_t *order, next;		/* the largest first */
	size_t *active, nactive;	/* files in parts that are open */
	size_t *again, nagain;		/* files that wait for their time */
	size_t left;			/* files that are not done */
	unsigned running;
	struct fetch_worker *workers;
	unsigned nworkers;
	struct tb_job *job;		/* the workers' own */
	enum tb_status status;		/* the first failure */
	struct tb_err err;
};

/* For tests: seconds. */
extern struct fetch_pace {
	double slow;			/* that a transfer may crawl for */
	double busy;			/* between two looks whether another is done */
} fetch_pace;

/* Of the disk or the file system: what a write that failed says. */
enum tb_status fetch_write_failed(const struct fetch *f, const struct fetch_file *file,
				  struct tb_err *err);

/* fetch_file.c: all but fetch_file_room() by the only user of the file. */
enum fetch_found {
	FETCH_OPENED,			/* there is something to load, or to hash */
	FETCH_RIGHT,			/* it is there, and right */
	FETCH_BUSY,			/* another loads it */
};
enum tb_status fetch_file_open(struct fetch *f, struct fetch_file *file, enum fetch_found *found,
			       struct tb_err *err) TB_MUST_USE;
void fetch_file_close(struct fetch_file *file);
/* All of its bytes are there: the right ones?  TB_EFORMAT: no; what was there is thrown away. */
enum tb_status fetch_file_end(struct fetch *f, struct fetch_file *file, struct tb_err *err)
	TB_MUST_USE;
/* Notes on the disk how far the part is. */
void fetch_file_note(const struct fetch_file *file, const struct fetch_part *p);
/* The bytes that the files will take that they have not yet. */
uint64_t fetch_file_room(const struct fetch *f, const struct fetch_file *file);
/* What an item of that size is cut into; UINT64_MAX: nothing. */
uint64_t fetch_part_size(const struct fetch *f, uint64_t size);

/* Cuts it anew: nothing of it is there.  false: no memory, and it is cut as it was. */
bool fetch_parts_make(struct fetch_file *file, uint64_t part);

/* fetch_adopt.c: copies what others have of it into the empty file, and fills in the parts; or
 * says how long the piece is that it has of the beginning, which may be 0. */
uint64_t fetch_adopt(const struct fetch *f, struct fetch_file *file);

/* fetch_hash.c */
enum tb_status fetch_hash_begin(struct fetch_file *file, struct tb_err *err) TB_MUST_USE;
/* Hashes what is there in one piece from the beginning, unless another user does. */
enum tb_status fetch_hash_on(struct fetch *f, struct fetch_file *file, struct tb_err *err)
	TB_MUST_USE;
void fetch_hash_end(struct fetch_file *file, char digest[TB_DIGEST_MAX]);
/* The whole file `name` of the folder: is it the item? */
enum tb_status fetch_hash_file(struct fetch *f, struct fetch_file *file, const char *name,
			       bool *right, struct tb_err *err) TB_MUST_USE;

/* fetch_load.c: all of a part that its loader has taken, however often that is tried. */
enum tb_status fetch_load(struct fetch_worker *w, struct http **h, struct fetch_file *file,
			  struct fetch_part *p, struct tb_err *err) TB_MUST_USE;

/* fetch_list.c: the run's list, locked as long as it is at work. */
enum tb_status fetch_list_begin(struct fetch *f, struct tb_err *err) TB_MUST_USE;
void fetch_list_end(struct fetch *f, bool remove);
/* Takes away those that earlier runs of the same left: this one has a list of all that, or wants
 * nothing more. */
void fetch_list_sweep(struct fetch *f);
/* The lists of others who are at work, as one text that the caller frees; NULL: nobody knows. */
char *fetch_list_others(const struct fetch *f);
#endif
