#!/bin/sh
# faults.sh - calls that fail, kills, and writers beside one another (faults.py says what
# is judged).  Without words some of each, in less than a minute.
srcdir=${srcdir:-.}
[ -z "${TBTUI_CHECKED:-}" ] || { echo "SKIP: passed in another build of these sources" >&2; exit 77; }
SHIM=${SHIM:-$(pwd)/tests/faults/shim.so}
command -v python3 >/dev/null || { echo "SKIP: no python3" >&2; exit 77; }
[ -f "$SHIM" ] || { echo "SKIP: $SHIM was not built" >&2; exit 77; }
# Sanitizers bring a malloc of their own, and end the program when it fails.
if LC_ALL=C grep -q __asan_init "$TBTUI" || LC_ALL=C grep -q __tsan_init "$TBTUI"; then
	echo "SKIP: a build with sanitizers" >&2
	exit 77
fi
LD_PRELOAD=$SHIM "$TBTUI" --version >/dev/null || { echo "SKIP: no preloading" >&2; exit 77; }
unset TBTUI_DB TBTUI_CPU TBTUI_NOW OLLAMA_MODELS HF_HOME XDG_CONFIG_HOME XDG_STATE_HOME
exec python3 "$srcdir/tests/faults/faults.py" "$TBTUI" "$SHIM" "$@"
