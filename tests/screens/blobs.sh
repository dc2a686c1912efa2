#!/bin/sh
# blobs.sh - a store in ./store with what a list of blobs should tell apart: three
# models that share a tensor, an orphan, a missing blob, a partial download, a blob
# written a minute before 1700100000, a file that nobody knows.
set -eu
T=$PWD/work
mkdir -p "$T" store
# shellcheck source=/dev/null
. "$TBTUI_SRC/tests/cli/store.sh"
STORE=$PWD/store
model "$STORE" alpha latest 100
model "$STORE" beta 8b 200
model "$STORE" gamma 1b 300
mv "$OWN" "$T/away"
printf 'nobody wants me' >"$T/blob"
blob "$STORE"
printf 'half' >"$STORE/blobs/sha256-00000000000000000000000000000000000000000000000000000000000000aa-partial"
printf 'I have just come' >"$T/blob"
young=$STORE/blobs/sha256-$(sha256sum <"$T/blob" | cut -c1-64)
blob "$STORE"
echo 'what is this' >"$STORE/blobs/notes.txt"
rm -r "$T"
find store -exec touch -d @1700000000 {} +
touch -d @1700099940 "$young"
