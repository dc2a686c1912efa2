#!/bin/sh
# chat.sh [SECONDS [SEED [STEPS]]] - somebody stays in the chat panel; chat.py says what is
# judged.  Some seconds here; "make check-soak" half an hour.
srcdir=${srcdir:-.}
[ -z "${TBTUI_CHECKED:-}" ] || { echo "SKIP: passed in another build of these sources" >&2; exit 77; }
command -v python3 >/dev/null || { echo "SKIP: no python3" >&2; exit 77; }
unset TBTUI_DB TBTUI_CPU TBTUI_NOW OLLAMA_MODELS HF_HOME XDG_CONFIG_HOME XDG_STATE_HOME
[ $# -gt 0 ] || set -- 5
exec python3 "$srcdir/tests/soak/chat.py" "${TBTUI:?the program}" "$@"
