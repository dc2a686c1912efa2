#!/bin/sh
# where: a wrong digest is traced to the tensor, its rows and the piece of 1 MiB, in all that
# models are kept in; and what is not known is said not to be known.
. "$srcdir/tests/cli/lib.sh"
command -v python3 >/dev/null || skip "no python3"
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
python3 "$srcdir/tests/cli/where.py" "$TBTUI" "$T" || fail "see above"
