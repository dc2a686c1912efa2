/* A report that somebody hands over: its seal, and what it says. */
#include "config.h"

#include <stdio.h>

#include "src/ops/report/report.h"
#include "tests/fuzz/folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[128], seal[TB_DIGEST_MAX];
	enum report_format f;
	struct report_file r = { 0 };
	struct report_diff d = { 0 };

	snprintf(path, sizeof(path), "%s/report.json", folder());
	folder_put("report.json", data, size);
	(void)!report_seal_check(path, &f, seal, NULL);
	if (!report_read(&r, path, NULL) && !report_compare(&r.findings, &r.findings, &d, NULL))
		report_diff_free(&d);
	report_file_free(&r);
	return 0;
}
