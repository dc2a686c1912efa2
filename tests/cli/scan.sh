#!/bin/sh
# scan: what is added, changed, removed; nothing is opened twice; what cannot be read
# does not hide the rest.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"

# An empty store, then two models that share a blob.
mkdir -p "$STORE/blobs" "$STORE/manifests"
run 0 scan
has '^0 models'
model "$STORE" one latest 100
model "$STORE" two 8b 200
run 0 scan
has '^added +one:latest'
has '^2 models: 2 added, 0 changed, 0 removed, 0 unchanged; 6 tensors'
has '^7 blobs, 0 missing, 0 orphans'
run 0 scan
has '^2 models: 0 added, 0 changed, 0 removed, 2 unchanged'
has_not '^added'

# The second time no file of a model is opened.
# Sanitizers look for leaks with ptrace themselves.
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
export ASAN_OPTIONS
if strace -o /dev/null true 2>/dev/null; then
	ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 \
		strace -f -e trace=open,openat -o "$T/trace" "$TBTUI" --db "$T/index.db" -s "$STORE" scan \
		>"$T/out" 2>&1 || fail "scan under strace"
	has '2 unchanged'
	grep -q "$STORE" "$T/trace" || fail "the store was not looked at"
	grep -v O_DIRECTORY "$T/trace" | grep "$STORE/" && fail "a file was opened again"
	rm "$T/index.db"
	ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 \
		strace -f -e trace=open,openat -o "$T/trace" "$TBTUI" --db "$T/index.db" -s "$STORE" scan \
		>"$T/out" 2>&1 || fail "scan under strace"
	grep -v O_DIRECTORY "$T/trace" | grep -q "$STORE/" || fail "strace sees no file opened"
fi

# One changed, one removed; the blobs of the latter are orphans then.
touch -d '2001-02-03' "$OWN"
run 0 scan
has '^changed +two:8b'
has '0 added, 1 changed, 0 removed, 1 unchanged'
rm "$MANIFEST"
run 0 scan
has '^removed +two:8b'
has '^5 blobs|^7 blobs, 0 missing, 2 orphans'
run 0 --json scan
has '"models":1.*"tensors":3.*"blobs":7.*"orphans":2.*"items":\[\]'

# Damage: a manifest cut in half, a blob that is missing, one that is none.
model "$STORE" three latest 300
half=$(($(wc -c <"$MANIFEST") / 2))
dd if="$MANIFEST" of="$T/half" bs=1 count=$half 2>/dev/null
cp "$T/half" "$MANIFEST"
model "$STORE" four latest 400
rm "$OWN"
run 0 scan
has '^unreadable +three:latest: '
has '^added +four:latest: .*missing'
has '^3 models: 2 added'
has '^2 models with problems'
has '1 missing'
run 0 scan
has '0 added, 0 changed, 0 removed, 3 unchanged'
run 0 ls
has '^three:latest .* damaged '
has '^four:latest .* damaged '
has '^one:latest .* never '

# What does not belong into blobs/, links in a loop and a FIFO stop nothing.
model "$STORE" five latest 500
mkfifo "$STORE/blobs/sha256-0000000000000000000000000000000000000000000000000000000000000000"
ln -s loop "$STORE/blobs/loop"
ln -s . "$STORE/manifests/registry.ollama.ai/library/round"
ln -s latest "$STORE/manifests/registry.ollama.ai/library/one/self"
ln -sf self "$STORE/manifests/registry.ollama.ai/library/one/self"
: >"$STORE/blobs/sha256-1111111111111111111111111111111111111111111111111111111111111111-partial"
: >"$STORE/blobs/Q4_K_M123"
run 0 scan
has '^added +five:latest$'
has '4 leftovers'
run 0 blobs --left
has 'partial '
has 'temporary '
has 'foreign '

# Hostile names reach the terminal clean, and the JSON whole.
esc=$(printf '\033')
st "evil\\u001b[31m\\u0007name" 4 4 9 >"$T/blob"
blob "$STORE"
MANIFEST=$STORE/manifests/registry.ollama.ai/library/evil/latest
mkdir -p "${MANIFEST%/*}"
printf '{"schemaVersion":2,"layers":[%s]}' "$(layer tensor 'x\u001b[2Jy')" >"$MANIFEST"
run 0 scan
run 0 tensors evil
has 'evil.*name'
has_not "$esc"
run 0 --json tensors evil
has 'evil\\u001b\[31m'
run 0 show evil
has_not "$esc"

# A damaged index is set aside and made anew; audits stay.
run 1 verify
dd if=/dev/zero of="$T/index.db" bs=100 count=1 conv=notrunc 2>/dev/null
run 0 scan
err_has 'set aside'
has '5 models: 5 added|6 models: 6 added'
[ "$(ls "$T"/index.db.damaged-* | grep -vc -- '-wal\|-shm')" -eq 1 ] || fail "not set aside"
run 0 audit
has 'damage'

# Usage and folders that are not there.
run 2 scan "$T/nowhere"
err_has 'nowhere'
run 2 scan ''
err_has 'empty'
run 2 --db '' verify
err_has '^tbtui: --db'
run 2 --db "$T" ls
err_has 'not a file'
# Two folders at once, each with its own models.
model "$T/other" six latest 600
run 0 scan "$T/other" "$STORE"
has '^added +six:latest'
expect 0 "$TBTUI" --db "$T/index.db" -s "$T/other" ls
has '^six:latest'
has_not '^one:latest'
# A folder that is away stays in the index until it is to be forgotten.
rm -r "$T/other"
run 0 scan
expect 0 "$TBTUI" --db "$T/index.db" ls six
run 0 scan --forget
has '^removed +six:latest'
expect 1 "$TBTUI" --db "$T/index.db" ls six
exit 0
