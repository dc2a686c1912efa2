#include "config.h"

#include "src/ops/copy/copy_place.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/manifest.h"
#include "src/store/oci.h"
#include "src/store/store.h"

void
copy_place_free(struct copy_place *p)
{
	site_free(p->site);
	free(p->reference);
	free(p->name);
	*p = (struct copy_place){ 0 };
}

char *
copy_place_text(const struct copy_place *p)
{
	bool tag = *p->name && !strcmp(p->name, p->reference);

	return tb_asprintf("%s%s%s", site_shown(p->site), !*p->reference ? "" : tag ? ":" : "@",
			   p->reference);
}

static enum tb_status
open_layout(struct copy_place *p, const char *text, bool dest, struct tb_err *err)
{
	const char *at = strstr(text, "@sha256:"), *name = text + oci_folder(text);
	char *dir = tb_strndup(text, oci_folder(text)), digest[TB_DIGEST_MAX] = "";
	enum tb_status status = dir ? TB_OK : tb_nomem(err);

	if (at && dest)
		status = tb_fail(err, TB_EUSAGE, "oci:%s: an image is written under a name; its digest"
				 " follows from its bytes", text);
	else if (at && !digest_parse(at + 1, digest))
		status = tb_fail(err, TB_EUSAGE, "oci:%s: its digest is none", text);
	name += *name == ':';
	p->is_layout = true;
	p->name = tb_strndup(name, at && at >= name ? (size_t)(at - name) : strlen(name));
	p->reference = *digest || !p->name ? tb_strdup(digest) : tb_strdup(p->name);
	if (!status && (!p->name || !p->reference))
		status = tb_nomem(err);
	if (!status && !*dir)
		status = tb_fail(err, TB_EUSAGE, "oci:%s: which folder?", text);
	if (!status && dest && !*p->name)
		status = tb_fail(err, TB_EUSAGE, "oci:%s: say what it shall be called there: oci:%s:NAME",
				 text, text);
	if (!status)
		status = site_layout(&p->site, dir, dest, err);
	free(dir);
	return status;
}

static enum tb_status
open_registry(struct copy_place *p, const struct op_ctx *ctx, const char *text,
	      const struct copy_request *req, bool dest, struct tb_err *err)
{
	struct config_registry said;
	struct registry_opts o;
	struct image_name n;
	enum tb_status status = image_name_parse(&n, text, err);

	if (status)
		return status;
	p->name = tb_strdup(n.tag);
	p->reference = tb_strdup(image_reference(&n));
	if (!p->name || !p->reference)
		status = tb_nomem(err);
	if (!status && dest && *n.digest)
		status = tb_fail(err, TB_EUSAGE, "%s: an image is written under a tag; its digest follows from "
				 "its bytes", text);
	config_registry_opts(&ctx->config, &n, req->insecure, req->skip_verify, &said, &o);
	if (dest)
		o.mirrors = NULL;	/* what is there is asked of the registry itself */
	if (!status)
		status = site_registry(&p->site, &n, &o, err);
	image_name_free(&n);
	return status;
}

static enum tb_status
open_model(struct copy_place *p, const struct op_ctx *ctx, const char *text, struct tb_err *err)
{
	struct model_loc loc;
	enum tb_status status = store_resolve(&ctx->roots, text, &loc, err);

	if (status)
		return tb_wrap(err, status, "docker:// is what begins a name in a registry, oci: a layout");
	p->name = tb_strdup("");
	p->reference = tb_strdup("");
	status = p->name && p->reference ? site_model(&p->site, &loc, err) : tb_nomem(err);
	model_loc_free(&loc);
	return status;
}

enum tb_status
copy_place_open(struct copy_place *p, const struct op_ctx *ctx, const char *text,
		const struct copy_request *req, bool dest, struct tb_err *err)
{
	enum tb_status status;

	*p = (struct copy_place){ 0 };
	if (tb_starts(text, "oci:"))
		status = open_layout(p, text + strlen("oci:"), dest, err);
	else if (!strncasecmp(text, "docker://", 9) || !strncasecmp(text, "http://", 7) ||
		 !strncasecmp(text, "https://", 8))
		status = open_registry(p, ctx, text, req, dest, err);
	else if (dest)
		status = tb_fail(err, TB_EUSAGE, "%s: copy writes to docker://HOST/REPOSITORY:TAG and to "
				 "oci:DIR:NAME; \"tbtui pull\" and \"tbtui import\" write to stores", text);
	else
		status = open_model(p, ctx, text, err);
	if (status)
		copy_place_free(p);
	return status;
}
