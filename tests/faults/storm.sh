#!/bin/sh
# storm.sh [SECONDS [SEED]] - two processes write and take away in one store, a third verifies;
# storm.py says what is judged.  Some seconds here, "make check-storm" a minute.
srcdir=${srcdir:-.}
[ -z "${TBTUI_CHECKED:-}" ] || { echo "SKIP: passed in another build of these sources" >&2; exit 77; }
command -v python3 >/dev/null || { echo "SKIP: no python3" >&2; exit 77; }
exec python3 "$srcdir/tests/faults/storm.py" "${TBTUI:?the program}" "$@"
