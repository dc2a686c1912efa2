#!/bin/sh
# damage: every kind of damage is found by verify, and doc/DAMAGE.md says as what; models
# that are whole raise no alarm.  TBTUI_UPDATE=1 writes the table.
. "$srcdir/tests/cli/lib.sh"
command -v python3 >/dev/null || skip "no python3"
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
python3 "$srcdir/tests/cli/damage.py" "$TBTUI" "$T" "${TBTUI_SRC:-$srcdir}/doc/DAMAGE.md" ||
	fail "what verify finds has changed: see above, and doc/DAMAGE.md"
