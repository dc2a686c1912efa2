#!/bin/sh
# resume: a verify that was killed or cancelled goes on where it was, and loses nothing that it
# had found.
. "$srcdir/tests/cli/lib.sh"
command -v python3 >/dev/null || skip "no python3"
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
python3 "$srcdir/tests/cli/resume.py" "$TBTUI" "$T" || fail "see above"
