/* schema_string.c - strings of a schema: their length, their pattern, their format. */
#include "config.h"

#include <string.h>

#include "src/text/schema.h"

#define REPEAT_MOST 65536u

#define YEAR "[1-9] [0-9] [0-9] [0-9]"
/* Years that have a 29th of February. */
#define LEAP "([1-9] [0-9] (\"0\" [48] | [2468] [048] | [13579] [26]) | ([2468] [048] | [13579] [26]) " \
	     "\"00\")"
#define DATE "(" YEAR " \"-\" ((\"0\" [13578] | \"1\" [02]) \"-\" (\"0\" [1-9] | [12] [0-9] | \"3\" [01]) | " \
	     "(\"0\" [469] | \"11\") \"-\" (\"0\" [1-9] | [12] [0-9] | \"30\") | \"02-\" (\"0\" [1-9] | \"1\" " \
	     "[0-9] | \"2\" [0-8])) | " LEAP " \"-02-29\")"
#define HOUR "([01] [0-9] | \"2\" [0-3])"
#define SIXTY "[0-5] [0-9]"
#define TIME "(" HOUR " \":\" " SIXTY " \":\" " SIXTY " (\".\" [0-9]{1,6})? (\"Z\" | [-+] " HOUR " \":\" " SIXTY "))"
#define BYTE "(\"25\" [0-5] | \"2\" [0-4] [0-9] | \"1\" [0-9] [0-9] | [1-9]? [0-9])"
#define LABEL "([a-z0-9] ([-a-z0-9]{0,30} [a-z0-9])?)"
#define HOST "(" LABEL " (\".\" " LABEL "){1,3})"
#define GROUP "[0-9a-f]{1,4}"
#define WORD "[-A-Za-z0-9_.~]"

static const struct { const char *name, *is; } formats[] = {
	{ "date", DATE }, { "time", TIME }, { "date-time", DATE " \"T\" " TIME },
	{ "duration", "\"P\" ([1-9] [0-9]{0,3} \"W\" | [1-9] [0-9]{0,3} \"D\" (\"T\" [1-9] [0-9]? \"H\")? | "
	  "\"T\" [1-9] [0-9]{0,3} [HMS])" },
	{ "uuid", "[0-9a-f]{8} \"-\" [0-9a-f]{4} \"-\" [0-9a-f]{4} \"-\" [0-9a-f]{4} \"-\" [0-9a-f]{12}" },
	{ "ipv4", BYTE " (\".\" " BYTE "){3}" }, { "ipv6", GROUP " (\":\" " GROUP "){7}" },
	{ "hostname", HOST },
	{ "email", "[A-Za-z0-9] [-A-Za-z0-9_+]{0,30} (\".\" [-A-Za-z0-9_+]{1,30}){0,2} \"@\" " HOST },
	{ "uri", "\"http\" \"s\"? \"://\" " HOST " (\"/\" " WORD "{0,60}){0,8}" },
	{ "uri-reference", "(\"http\" \"s\"? \"://\" " HOST ")? (\"/\" " WORD "{0,60}){0,8}" },
	{ "json-pointer", "(\"/\" " WORD "{0,60}){0,8}" },
	/* of numbers, which people say of strings, too */
	{ "binary", NULL }, { "byte", "[A-Za-z0-9+/]{4}* ([A-Za-z0-9+/]{2} \"==\" | [A-Za-z0-9+/]{3} \"=\")?" },
	{ "password", NULL },
};

static enum tb_status
put_format(struct schema *s, const char *format, struct tb_buf *x)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!strcmp(formats[i].name, format)) {
			if (formats[i].is)
				tb_buf_printf(x, "\"\\\"\" (%s) \"\\\"\"", formats[i].is);
			else
				tb_buf_str(x, "string");
			return TB_OK;
		}
	return schema_refuse(s, "format", "this one is not supported; date, time, date-time, duration, "
			     "uuid, email, hostname, ipv4, ipv6, uri are, or say a pattern");
}

enum tb_status
schema_put_string(struct schema *s, const cJSON *of, struct tb_buf *x)
{
	const cJSON *pattern = json_get(of, "pattern"), *format = json_get(of, "format");
	uint64_t min = 0, max = UINT64_MAX;
	bool least, most;
	enum tb_status status = TB_OK;

	least = schema_count(s, of, "minLength", &min, &status) && min > 0;
	most = schema_count(s, of, "maxLength", &max, &status);
	if (status)
		return status;
	if ((pattern && !json_str(pattern)) || (format && !json_str(format)))
		return schema_refuse(s, pattern ? "pattern" : "format", "this is no string");
	if (pattern && format)
		return schema_refuse(s, "format", "beside pattern this is not supported");
	if ((pattern || format) && (least || most))
		return schema_refuse(s, least ? "minLength" : "maxLength", "beside %s this is not supported; "
				     "say it in a pattern", pattern ? "pattern" : "format");
	if (format)
		return put_format(s, json_str(format), x);
	if (pattern) {
		tb_buf_str(x, "\"\\\"\" (");
		status = schema_put_pattern(s, "pattern", json_str(pattern), x);
		tb_buf_str(x, ") \"\\\"\"");
		return status;
	}
	if (!least && !most) {
		tb_buf_str(x, "string");
		return TB_OK;
	}
	if (min > REPEAT_MOST)
		return schema_refuse(s, "minLength", "over %u", REPEAT_MOST);
	if (min > max)
		tb_buf_str(x, "[]");
	else if (most)
		tb_buf_printf(x, "\"\\\"\" char{%u,%u} \"\\\"\"", (unsigned)min,
			      max < REPEAT_MOST ? (unsigned)max : REPEAT_MOST);
	else
		tb_buf_printf(x, "\"\\\"\" char{%u,} \"\\\"\"", (unsigned)min);
	return TB_OK;
}
