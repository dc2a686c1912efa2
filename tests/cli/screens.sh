#!/bin/sh
# Without a terminal the screens say so, and leave nothing behind.
. "$srcdir/tests/cli/lib.sh"
expect 2 "$TBTUI" --db "$T/index.db" --store "$T" </dev/null
err_has 'the screens need a terminal'
[ ! -e "$T/index.db" ] || fail "an index was made"
expect 2 "$TBTUI" --db "$T/index.db" --plain </dev/null
err_has 'every screen is a command'
