/* opt.h - options from a table: parsing, --help and shell completion read the
 * same rows. */
#ifndef TBTUI_BASE_OPT_H
#define TBTUI_BASE_OPT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "src/base/err.h"

enum tb_opt_type {
	TB_OPT_FLAG,		/* bool *: set to true */
	TB_OPT_STR,		/* const char **: borrowed from argv */
	TB_OPT_LIST,		/* struct tb_strs *: repeatable, borrowed from argv */
	TB_OPT_U64,		/* uint64_t * */
	TB_OPT_F64,		/* double * */
};

struct tb_strs {
	const char **v;		/* owned array of borrowed strings */
	size_t n, cap;
};

struct tb_opt {
	char letter;		/* 0 = none */
	const char *name;	/* without "--"; NULL ends the table */
	enum tb_opt_type type;
	void *to;		/* where it goes, see the type */
	const char *arg;	/* what the value is called in --help, NULL for flags */
	const char *help;
};

/* Takes options out of argv (any order, "--" ends them, "-x3", "-x 3",
 * "--name=3", "--name 3"; unambiguous prefixes of long names are not accepted);
 * *argc and argv are left with the operands, argv[0] first.  With `stop_at_operand`
 * the rest is left alone from the first operand on (global options before a
 * command). TB_EUSAGE names the option. */
enum tb_status tb_opt_parse(const struct tb_opt *opts, int *argc, char **argv,
			    bool stop_at_operand, struct tb_err *err) TB_MUST_USE;
void tb_opt_help(const struct tb_opt *opts, FILE *out);
void tb_strs_free(struct tb_strs *l);
#endif
