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
XDG_CONFIG_HOME=/nonexistent "$TBTUI" --print-config | sed 's/^[a-z]/#&/' >"$new.config"
diff -u "$srcdir/data/config" "$new.config" || {
	echo "data/config is out of date: make docs"
	rm -f "$new.config"
	exit 1
}
rm -f "$new.config"
for c in $(sed -n 's/^    tbtui \(--store DIR \)\{0,1\}\([a-z][a-z]*\).*/\2/p' "$srcdir/README.md"); do
	"$TBTUI" "$c" --help >/dev/null || { echo "README.md: no command $c"; exit 1; }
done
if command -v man >/dev/null; then
	warnings=$(man --warnings -l "$new" 2>&1 >/dev/null)
	[ -z "$warnings" ] || { echo "$warnings"; exit 1; }
fi
exit 0
