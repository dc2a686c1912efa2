/* sha256_files.h - SHA-256 of many files: each worker has some open and hashes them side by
 * side, which takes half of the time of one after the other.
 *
 * Files of a device are read as many at a time as it likes (device.h), and pages that
 * were not in memory before do not stay there (cached.h). */
#ifndef TBTUI_BASE_SHA256_FILES_H
#define TBTUI_BASE_SHA256_FILES_H

#include "src/base/file.h"
#include "src/base/sha256.h"

struct tb_job;
struct tb_pool;

struct tb_hash_file {
	const char *path;	/* borrowed */
	uint64_t size, dev;	/* as last seen, for the order and the device */
};

struct tb_hash_files {
	const struct tb_hash_file *files;	/* largest first */
	size_t n;
	unsigned readers;	/* of a device at a time; 0: as it likes */
	bool again;		/* done() reads the file once more: its pages stay until then */
	void *arg;
	/* NULL, or: file i was opened; who wants to see its bytes fills *seen. Not OK: done()
	 * is next. */
	enum tb_status (*begun)(void *arg, size_t i, const struct tb_file *f, struct tb_seen *seen,
				struct tb_err *err);
	/* Once for each file that was begun, or could not be opened (f NULL): its digest, if
	 * status is TB_OK.  On a cancel those that were begun end with TB_ECANCEL. */
	void (*done)(void *arg, size_t i, const struct tb_file *f, enum tb_status status,
		     const char digest[TB_DIGEST_MAX], struct tb_err *err);
	/* NULL, or: now and then, on the thread that called. */
	void (*now_and_then)(void *arg);
};

/* begun() and done() run on any worker.  Fails only when it is cancelled, or without memory
 * for anything. */
enum tb_status tb_sha256_files(struct tb_pool *pool, const struct tb_hash_files *h,
			       struct tb_job *job, struct tb_err *err) TB_MUST_USE;
#endif
