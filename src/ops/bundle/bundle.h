/* bundle.h - models as one archive that says what is in it, for machines without a network.
 *
 * A bundle is a tar, so that anybody can unpack it; its members are, in this order,
 *
 *	tbtui-bundle.json			the list: models, and each member's size and SHA-256
 *	blobs/sha256-<hex>			blobs of Ollama stores, each once
 *	files/<folder>/<file>			folders and files
 *	manifests/<host>/<ns>/<model>/<tag>	last of a model, as in a store
 *	tbtui-bundle.sha256			the same sums, the list's first, for sha256sum -c
 *
 * sorted by their paths.  The list comes first, so one can be checked and imported while it
 * arrives; what it says is believed of no byte that has not been hashed. */
#ifndef TBTUI_OPS_BUNDLE_H
#define TBTUI_OPS_BUNDLE_H

#include "src/ops/home/home.h"
#include "src/ops/output/output.h"

struct cJSON;
struct tb_job;

struct bundle_member {
	char *path;			/* owned */
	uint64_t size;
	char digest[TB_DIGEST_MAX];
};

struct bundle_model {
	char *name, *kind;		/* as people call it; what it is; owned */
	char *path;			/* its manifest, its folder, or its (first) file; owned */
	uint64_t bytes;			/* of all of its members */
};

struct bundle {
	char *made_by, *made;		/* owned */
	struct bundle_model *models;	/* owned */
	size_t nmodels, models_cap;
	struct bundle_member *members;	/* by path; owned */
	size_t nmembers, members_cap;
	uint64_t bytes;			/* of the members */
};
void bundle_free(struct bundle *b);		/* of what an operation filled; zeroed is fine */
/* Its models as the list has them: name, kind, path, bytes; caller frees. */
struct cJSON *bundle_models_json(const struct bundle *b);

/* Where the archive goes: some bytes more. */
typedef enum tb_status bundle_put(void *arg, const char *data, size_t len, struct tb_err *err);

/* Models by REF into one archive.  Each file is hashed while it is written: one that is not
 * what its name says ends it, and so does one that changes. */
struct bundle_request {
	const char *const *refs;
	size_t nrefs;
	bundle_put *put;
	void *arg;
};
enum tb_status op_bundle(const struct op_ctx *ctx, const struct bundle_request *req,
			 struct tb_job *job, struct bundle *out, struct tb_err *err) TB_MUST_USE;

/* Models into an OCI image layout, which is made if it is not there: one image more a model,
 * by its name.  Of an Ollama model it has the same blobs and layers; a folder is an artifact
 * with a layer a file. */
struct image_request {
	const char *const *refs;
	size_t nrefs;
	const char *layout;
	bool replace;			/* an image of that name may be there */
};
struct image_result {
	struct tb_names names;		/* of the images; owned */
	size_t written, there;		/* blobs: written, in the layout already */
	uint64_t bytes;			/* of those that were written */
};
enum tb_status op_image(const struct op_ctx *ctx, const struct image_request *req,
			struct tb_job *job, struct image_result *out, struct tb_err *err)
	TB_MUST_USE;

/* An archive to read: a file or a pipe, and what messages call it. */
struct bundle_source { int fd; const char *what; };
/* Is it one, as far as its beginning says? */
bool bundle_is(const char *path);

/* Its list alone. */
enum tb_status op_bundle_list(const struct bundle_source *src, struct bundle *out,
			      struct tb_err *err) TB_MUST_USE;

/* What is wrong with it, by member. */
struct bundle_damage {
	struct bundle_wrong { char *member, *why; } *v;		/* owned */
	size_t n, cap;
	uint64_t good;			/* members whose bytes are what the list says */
};
void bundle_damage_free(struct bundle_damage *d);
/* Reads all of it.  Fails only where it is no bundle, or cannot be read. */
enum tb_status op_bundle_verify(const struct bundle_source *src, struct tb_job *job,
				struct bundle *out, struct bundle_damage *damage,
				struct tb_err *err) TB_MUST_USE;

/* Into a store, or with a path as `name` into a folder.  Nothing is visible before all of it
 * has been read and is right. */
struct bundle_import {
	struct bundle_source src;
	const char *name;		/* of its only model; NULL: all, as they are called there */
	bool replace;
};
struct bundle_imported {
	char *root;			/* the store; NULL: a folder; owned */
	struct bundle_arrived { char *name; struct kept kept; } *models;	/* owned */
	size_t nmodels;
	size_t members;
	uint64_t bytes;
	double seconds;
};
enum tb_status op_bundle_import(const struct op_ctx *ctx, const struct bundle_import *req,
				struct tb_job *job, struct bundle_imported *out,
				struct tb_err *err) TB_MUST_USE;
void bundle_imported_free(struct bundle_imported *r);
#endif
