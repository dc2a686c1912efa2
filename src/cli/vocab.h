/* vocab.h - what "tokenize" prints. */
#ifndef TBTUI_CLI_VOCAB_H
#define TBTUI_CLI_VOCAB_H

#include <stdbool.h>

#include "src/cli/cli.h"

struct tb_buf;
struct vocab;

enum cli_exit cli_vocab_encode(const struct cli *cli, const struct vocab *v,
			       const struct tb_buf *text, bool add_special, bool parse_special,
			       bool spans);
enum cli_exit cli_vocab_search(const struct cli *cli, const struct vocab *v, const char *part);
/* list: "1,2,3" */
enum cli_exit cli_vocab_decode(const struct cli *cli, const struct vocab *v, const char *list);
#endif
