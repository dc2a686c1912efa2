#!/bin/sh
# Each claim of doc/SECURITY.md names a test: FILE:TEXT in backquotes, where the file has a line
# with that text.
cd "${srcdir:-.}" || exit 99
list=$(mktemp) || exit 99
trap 'rm -f "$list"' EXIT
tr '\n' ' ' <doc/SECURITY.md | grep -o '`tests/[^`]*:[^`]*`' | tr -d '`' >"$list"
[ "$(wc -l <"$list")" -ge 20 ] || { echo "doc/SECURITY.md names hardly any tests"; exit 1; }
bad=0
while IFS= read -r claim; do
	text=${claim#*:}
	grep -qF -- "$text" "${claim%%:*}" && continue
	printf 'doc/SECURITY.md: no "%s" in %s\n' "$text" "${claim%%:*}"
	bad=1
done <"$list"
exit $bad
