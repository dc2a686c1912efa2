#!/bin/sh
# Without a terminal the screens say so, and leave nothing behind.
. "$srcdir/tests/cli/lib.sh"
expect 2 "$TBTUI" --db "$T/index.db" --store "$T" </dev/null
err_has 'the screens need a terminal'
[ ! -e "$T/index.db" ] || fail "an index was made"
expect 0 "$TBTUI" --db "$T/index.db" --store "$T" --plain </dev/null
has 'Nothing is indexed here yet'
[ ! -e "$T/index.db" ] || fail "an index was made"
