#!/bin/sh
# Functions that this project does without, and options that break NaN.
cd "${srcdir:-.}" || exit 99
bad=0
files=$(find src db ui tests -name '*.[ch]' | sort)
[ -n "$files" ] || exit 99

# banned PATTERN WHY FILE...: calls outside comments and strings
banned() {
	pattern=$1
	why=$2
	shift 2
	hits=$(awk -v pattern="(^|[^a-zA-Z0-9_.>])($pattern)[ \t]*[(]" "$(cat tests/code.awk)"'
		{
			s = $0
			gsub(/\\./, "", s)
			gsub(/"[^"]*"/, "\"\"", s)
			if (code(s) ~ pattern)
				print FILENAME ":" FNR ": " $0
		}' "$@")
	[ -z "$hits" ] && return
	echo "$hits"
	echo "  banned: $why"
	bad=1
}

# shellcheck disable=SC2086
banned 'strcpy|strcat|stpcpy|sprintf|vsprintf|gets' 'no bound; use struct tb_buf or snprintf' $files
# shellcheck disable=SC2086
banned 'strtok|atoi|atol|atof|atoll' 'no errors; use tb_parse_u64, strtod' $files
# shellcheck disable=SC2086
banned 'system|popen' 'hands names to a shell; use argv' $files
# shellcheck disable=SC2086
banned 'alloca|mktemp|tmpnam|tempnam' 'unbounded or racy' $files
# shellcheck disable=SC2046
banned 'exit|_exit|abort|quick_exit' 'only src/cli and main end the program' \
	$(echo "$files" | grep -E '^(db|src/(base|format|quant|store|net|engine|text|ops))/')

# shellcheck disable=SC2046
banned 'opendir|fdopendir|readdir|scandir|nftw|ftw' 'looks empty when it fails; use src/base/dir.h' \
	$(echo "$files" | grep -E '^(db|ui|src)/' | grep -v '^src/base/dir.c$')

if grep -nE 'ffast-math|Ofast|ffinite-math' configure.ac Makefile.am */local.mk src/*/local.mk; then
	echo "  banned: breaks the checks for NaN and infinity"
	bad=1
fi
exit $bad
