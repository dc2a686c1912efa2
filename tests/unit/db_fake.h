/* db_fake.h - models that are made up, to be put into an index. */
#ifndef TBTUI_TESTS_DB_FAKE_H
#define TBTUI_TESTS_DB_FAKE_H

#include "db/write.h"

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SHARED "sha256:" HEX64
#define OWN "sha256:ff" "23456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* A model that is made up here: a manifest, a blob that others share, one of its own. */
struct fake {
	struct model m;
	struct model_file files[3];
	struct tensor tensors[4];
	struct model_problem problem;
	char path[64], manifest[80], blob[64];
};

void fake_model(struct fake *f, const char *name, uint64_t inode);
char *fake_path(const char *folder);	/* of an index in a folder of its own; caller frees */
void fake_put(struct db *db, struct fake *f, uint64_t stamp);
void fake_finish(struct db *db);
void fake_index(const char *path);	/* makes one with the model "m", and a run */
#endif
