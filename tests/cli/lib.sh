# lib.sh - sourced by the shell tests: a fresh folder to work in, and words to
# check with.  `make check` sets TBTUI (the program) and srcdir.
set -u
: "${TBTUI:?the program to test}"
T=$(mktemp -d "${TMPDIR:-/tmp}/tbtui-cli-XXXXXX") || exit 99
trap 'rm -rf "$T"' EXIT
trap 'exit 99' HUP INT TERM
HOME=$T/home
XDG_DATA_HOME=$HOME/data
XDG_CONFIG_HOME=$HOME/config
export HOME XDG_DATA_HOME XDG_CONFIG_HOME
mkdir -p "$HOME"

fail() {
	echo "FAIL: $*" >&2
	exit 1
}

skip() {
	echo "SKIP: $*" >&2
	exit 77
}

# Is every byte of memory watched?  Then some of what only repeats itself is left to a plain build.
sanitized() {
	LC_ALL=C grep -q __asan_init "$TBTUI"
}

need_shared() {
	[ -n "${TBTUI_SHARED:-}" ] || skip "no shared test data"
}

# expect STATUS COMMAND...: runs it with $T/out and $T/err as its output.
expect() {
	want=$1
	shift
	"$@" >"$T/out" 2>"$T/err" </dev/null
	got=$?
	[ "$got" -eq "$want" ] && return
	echo "standard output:" >&2
	head -50 "$T/out" >&2
	echo "standard error:" >&2
	head -50 "$T/err" >&2
	fail "exit status $got, not $want: $*"
}

# has PATTERN: the last output has a line that matches (grep -E).
has() {
	grep -Eq -- "$1" "$T/out" && return
	head -50 "$T/out" >&2
	fail "no line matches: $1"
}

has_not() {
	grep -Eq -- "$1" "$T/out" || return 0
	fail "a line matches: $1"
}

err_has() {
	grep -Eq -- "$1" "$T/err" && return
	head -50 "$T/err" >&2
	fail "no message matches: $1"
}
