#!/bin/sh
# The manual page is what doc/gen-man.sh makes of the program ("make docs").
srcdir=${srcdir:-.}
: "${TBTUI:?the program}"
new=$(mktemp) || exit 99
trap 'rm -f "$new"' EXIT
"$srcdir/doc/gen-man.sh" "$TBTUI" >"$new" || exit 1
diff -u "$srcdir/doc/tbtui.1" "$new" || {
	echo "doc/tbtui.1 is out of date: make docs"
	exit 1
}
if command -v man >/dev/null; then
	warnings=$(man --warnings -l "$new" 2>&1 >/dev/null)
	[ -z "$warnings" ] || { echo "$warnings"; exit 1; }
fi
exit 0
