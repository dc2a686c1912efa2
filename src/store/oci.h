/* oci.h - image layouts: their files, beside what store_kind.h says of all stores. */
#ifndef TBTUI_STORE_OCI_H
#define TBTUI_STORE_OCI_H

#include "src/format/json.h"
#include "src/store/store_kind.h"

#define OCI_INDEX_MAX (16u << 20)
#define OCI_MAX_NESTING 4		/* indexes of indexes */
#define OCI_MAX_IMAGES 1000u
#define OCI_BLOBS "/blobs/sha256/"

/* layout/blobs/sha256/<hex>; caller frees. NULL when out of memory or no such digest. */
char *oci_blob_path(const char *layout, const char *digest);
/* Of "DIR[:NAME][@DIGEST]", the bytes that are the folder: up to a colon behind which one is,
 * else up to the first. */
size_t oci_folder(const char *spec);
/* Is what an index lists another index? */
bool oci_is_index(const cJSON *descriptor);

/* oci_check.c: rows of store_kind.h. */
enum tb_status oci_odd(const char *layout, store_odd_fn *fn, void *arg, struct tb_err *err)
	TB_MUST_USE;
enum tb_status oci_left(const char *layout, store_file_fn *fn, void *arg, struct tb_err *err)
	TB_MUST_USE;
enum store_file oci_file(const char *path, char digest[TB_DIGEST_MAX]);
#endif
