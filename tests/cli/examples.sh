#!/bin/sh
# The examples of the manual, one after the other as they stand there.
. "$srcdir/tests/cli/lib.sh"

# The lines between .nf and .fi of the section, as a shell reads them.
sed -n '/^\.SH EXAMPLES/,/^\.SH [^E]/p' "$srcdir/doc/tbtui.1.in" |
	sed -n '/^\.nf/,/^\.fi/{/^\./d;s/\\-/-/g;s/\\(aq/'"'"'/g;p;}' >"$T/examples"
[ "$(wc -l <"$T/examples")" -ge 15 ] || fail "too few examples"
mkdir "$T/bin" "$T/work"
cp "$srcdir/doc/INTERNALS.md" "$T/work/text.txt"	# what a person calibrates with
ln -s "$TBTUI" "$T/bin/tbtui"
PATH=$T/bin:$PATH
cd "$T/work" || exit 99
while IFS= read -r line; do
	case $line in
	'tbtui ./demo') continue ;;	# a screen
	'tbtui serve '* | 'curl http'*) continue ;;	# a server has no end: serve.sh has those
	*' | jq '*) command -v jq >/dev/null || line=${line%% | jq*} ;;
	esac
	sh -c "$line" >"$T/out" 2>"$T/err" </dev/null
	status=$?
	case $line in
	# one model of the demo is damaged, and two models differ
	'tbtui verify' | 'tbtui verify --json' | 'tbtui diff '*) want=1 ;;
	*) want=0 ;;
	esac
	[ $status -eq $want ] || {
		cat "$T/err" >&2
		fail "exit status $status: $line"
	}
	[ -s "$T/out" ] || [ "$line" = "tbtui chat demo:bf16" ] || fail "prints nothing: $line"
done <"$T/examples"

# Those of --help: their commands and options are there.
n=0
for c in $(tbtui --help | awk '/^Commands:/ { on = 1 } on && /^  [a-z]/ { print $1 }'); do
	tbtui "$c" --help | sed -n '/^Examples:/,/^$/s/^  tbtui/tbtui/p'
done >"$T/examples"
while IFS= read -r line; do
	n=$((n + 1))
	sh -c "$line --help" >"$T/out" 2>"$T/err" </dev/null || fail "$line: $(cat "$T/err")"
	head -n 1 "$T/out" | grep -q "^Usage: $(echo "$line" | cut -d' ' -f1,2) " || fail "$line: no command"
	[ ${#line} -le 76 ] || fail "too long: $line"
done <"$T/examples"
[ $n -ge 40 ] || fail "only $n examples in --help"
tbtui --help >"$T/out"
! grep -E '^.{81}' "$T/out" || fail "--help is wider than 80 columns"
exit 0
