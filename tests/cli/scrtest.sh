#!/bin/sh
# The screen tests' own test: each kind of failure is seen, with a program that
# draws what it is told to.
. "$srcdir/tests/cli/lib.sh"
: "${SCRTEST:?}"

cat >"$T/fake" <<'END'
#!/bin/sh
# Keys: x draws, e sends an unknown sequence, q quits, h quits with the cursor
# hidden, r quits in raw mode, f quits with status 3.
old=$(stty -g)
quit() { stty "$old"; printf '\033[?25h'; exit "${1:-0}"; }
trap 'kill -KILL $!; stty "$old"; printf "\033[?25h"; trap - TERM; kill -TERM $$' TERM
exec 3<&0
stty raw -echo min 1
printf '\033[H\033[2J\033[?25l\033[1mhello\033[m 模型'
while :; do
	dd bs=1 count=1 <&3 >"$0.key" 2>/dev/null &	# a trap waits for no background job
	wait $!
	case $(cat "$0.key") in
	"$(printf '\035')") printf '\033]777;idle\007' ;;
	x) printf '\033[2;1Hmore' ;;
	e) printf '\033[3z' ;;
	q) quit ;;
	f) quit 3 ;;
	h) stty "$old"; exit ;;
	r) printf '\033[?25h'; exit ;;
	'') exit 9 ;;
	esac
done
END
chmod +x "$T/fake"
FAKE=$T/fake
export FAKE

# try STATUS LINE...: a script of these lines ends so.
try() {
	want=$1
	shift
	{
		echo "size 3 12"
		# shellcheck disable=SC2016
		echo 'run $FAKE'
		printf '%s\n' "$@"
	} >"$T/x.scr"
	expect "$want" "$SCRTEST" "$T/x.scr"
}

try 0 'row 0 |hello 模型' 'keys x' screen '|hello 模型' '|more' '|' 'keys q' 'exit 0'
try 0 attrs '|bbbbb' '|' '|' 'wait |hello' 'absent |more' 'keys f' 'exit 3'
try 0 'keys x' 'resize 2 8' 'keys x' screen '|' '|more'
try 0
try 1 'row 0 |hallo 模型'
has '^  -\|hallo 模型$'
has '^  \+\|hello 模型$'
try 1 screen '|hello 模型' '|'
has '2 rows expected, 3 shown'
try 1 'wait |hello' 'absent |hello'
has 'x.scr:4: "hello" is shown'
try 1 'keys q'
has 'ended by itself, status 0'
try 1 'keys f' 'exit 0'
has 'exit status 3'
try 1 'keys h' 'exit 0'
has 'cursor is still hidden'
try 1 'keys r' 'exit 0'
has 'modes are not as they were'
try 1 'keys e'
has 'the terminal got ESC\[3z'
try 1 'keys <Nothing>'
has 'no key <Nothing>'
try 1 'dance'
try 77 'need TBTUI_NO_SUCH_VARIABLE' 'row 0 |never read'

# What serves is there until the end, and no longer.
# shellcheck disable=SC2016
try 0 "serve echo \$\$ >$T/pid; exec sleep 100" "setup while ! kill -0 \$(cat $T/pid); do sleep 0.1; done" \
	'row 0 |hello 模型'
if kill -0 "$(cat "$T/pid")" 2>/dev/null; then
	fail 'what serves has outlived the test'
fi

try 1 screen '|wrong' 'row 1 |wrong'
expect 0 "$SCRTEST" -u "$T/x.scr"
expect 0 "$SCRTEST" "$T/x.scr"
grep -q '^|hello 模型$' "$T/x.scr" || fail "-u did not rewrite the file"
exit 0
