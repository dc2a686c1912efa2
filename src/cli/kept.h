/* kept.h - tells of what was replaced. */
#ifndef TBTUI_CLI_KEPT_H
#define TBTUI_CLI_KEPT_H

struct cJSON;
struct kept;

/* Three lines, or none where nothing was replaced. */
void kept_print(const struct kept *k);
/* "replaced": an object with its name and two commands, or null. */
void kept_json(struct cJSON *doc, const struct kept *k);
#endif
