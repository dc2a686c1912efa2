#!/bin/sh
# Conversations are kept from the first message on, listed, searched, gone on with, exported,
# imported, thrown away and taken back: with nothing but the demo's models.
. "${srcdir:-.}/tests/cli/lib.sh"

expect 0 "$TBTUI" demo "$T/demo"
expect 0 "$TBTUI" --store "$T/demo" quantize demo:bf16 "$T/dense" -q keep
db=$T/data/index.db
tb() {
	"$TBTUI" -d "$db" --store "$T/demo" "$@"
}

# nothing is kept where nothing was said, nor of one question alone
expect 0 tb sessions
err_has 'no session was kept yet'
expect 0 tb chat "$T/dense" -p hello -n 4
expect 0 tb chat "$T/dense" -n 3 </dev/null
echo hello | tb chat "$T/dense" -n 3 --no-keep >/dev/null || fail "--no-keep"
[ ! -e "$T/data/chats.db" ] || fail "something is kept"
expect 2 tb chat --session last -p x
err_has 'no session was kept yet|there is no session'

# lines are kept; the file is for its user alone
printf 'Tell me of  blobs\nand of bees\n' | tb chat "$T/dense" -n 3 --temp 0.4 --seed 7 >/dev/null ||
	fail "lines"
[ "$(stat -c %a "$T/data/chats.db")" = 600 ] || fail "others may read it"
expect 0 tb sessions
has '^ *1 .* 4 +dense +Tell me of blobs$'

# going on: without saying which model, with what was set then; -p is kept with --session
expect 0 tb --json chat --session last -p "and of birds" -n 2
has '"session":1'
expect 0 tb --json chat --session 1 -p "more"
has '"session":1'
has '"stop":"length"'		# 2 tokens, as it was said then
expect 0 tb sessions show 1
has '^## You$'
has '^and of birds$'
expect 0 tb --json sessions
has '"turns":8'
expect 0 tb chat "$T/dense" --session new -p "Another" -n 2
expect 0 tb sessions
[ "$(sed -n 2p "$T/out" | awk '{ print $1 }')" = 2 ] || fail "the newest is not the first"
expect 2 tb chat --session 99 -p x
err_has 'no session 99'
expect 2 tb chat "$T/dense" --session 99 -p x
err_has 'no session 99'
expect 2 tb chat "$T/dense" --session x -p x
err_has 'no session; say its number'
expect 2 tb chat "$T/dense" --session 1 --no-keep -p x
err_has 'take one of them'
expect 2 tb chat
err_has 'with whom'

# words are found, whatever they are
expect 0 tb sessions search bees
has 'Tell me of blobs: .*bees'
expect 1 tb --json sessions search bee blob
has '"sessions":\[\]'
expect 0 tb sessions search BLOBS
expect 1 tb sessions search 'nobody "said* this'

# titles, hostile ones, too
expect 0 tb sessions rename 1 "$(printf 'My \033[31m"title"\a')"
expect 0 tb sessions
has_not "$(printf '\033')"
has 'My .*"title"'
expect 2 tb sessions rename 9 x
err_has 'no session 9'

# out and in again: the same
expect 0 tb sessions export 1
has '^## dense$'
expect 0 tb sessions export 1 --as json
cp "$T/out" "$T/one.json"
expect 0 tb sessions import "$T/one.json"
expect 0 tb sessions export 3 --as json
for f in "$T/one.json" "$T/out"; do
	python3 - "$f" >"$f.messages" <<'EOF' || fail "$f: no JSON"
import json, sys
o = json.load(open(sys.argv[1]))
print(json.dumps([o["title"], o["settings"], o["messages"], o["leaf"],
                  [[t["n"], t["parent"], t["role"], t["content"]] for t in o["tree"]]], indent=1))
assert len(o["messages"]) == 8 and len(o["tree"]) == 8
EOF
done
cmp "$T/one.json.messages" "$T/out.messages" || fail "an import differs"
echo '[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"parts"}]},
	{"role":"assistant","content":"yes","tool_calls":[{"id":"1"}]}]' >"$T/list.json"
expect 0 tb sessions import "$T/list.json"
expect 0 tb sessions export 4
has '^## System$'
has '^parts$'
has '^```json$'
echo '{"messages":[],"tree":[{"n":2,"parent":1}]}' >"$T/bad.json"
expect 2 tb sessions import "$T/bad.json"
err_has 'not behind what it follows'
echo '{"x":1}' >"$T/bad.json"
expect 2 tb sessions import "$T/bad.json"
err_has 'no "messages"'
expect 0 tb --json sessions
[ "$(grep -o '"session":' "$T/out" | wc -l)" -eq 4 ] || fail "a failed import left something"

# away and back
expect 0 tb sessions rm 3
expect 0 tb sessions rm 1
expect 1 tb sessions search bees
expect 0 tb sessions search bees --trash
expect 2 tb sessions rm 1
expect 0 tb sessions restore 1
expect 2 tb sessions restore 1
err_has 'in the trash'
expect 0 tb sessions search bees
expect 0 tb sessions rm 1
expect 2 tb sessions empty </dev/null
err_has 'Delete 2 sessions for good.*--yes'
[ -s "$T/data/kv/1.kv" ] || fail "what was read is not kept"
[ "$(stat -c %a "$T/data/kv")" = 700 ] || fail "others may look into kv"
expect 0 tb --yes sessions empty
has '^2 sessions deleted$'
[ ! -e "$T/data/kv/1.kv" ] || fail "what was read is still there"
expect 0 tb --yes sessions empty
has '^0 sessions deleted$'
expect 0 tb sessions list --trash
err_has 'trash is empty'
grep -q 'bees' "$T/data/chats.db" "$T/data/chats.db-wal" 2>/dev/null && fail "deleted words are still there"

# the configuration: how much is kept, or nothing
mkdir -p "$XDG_CONFIG_HOME/tbtui"
echo 'sessions 10' >"$XDG_CONFIG_HOME/tbtui/config"
expect 0 tb chat "$T/dense" --session new -p "no room" -n 2
expect 0 tb sessions search "no room"
[ "$(find "$T/data/kv" -name '*.kv' -size +0 | wc -l)" -le 1 ] || fail "more is kept than there is room for"
echo 'sessions off' >"$XDG_CONFIG_HOME/tbtui/config"
echo secret | tb chat "$T/dense" -n 2 >/dev/null || fail "sessions off"
expect 1 tb sessions search secret
expect 0 tb chat "$T/dense" --session new -p "asked for" -n 2
expect 0 tb sessions search "asked for"
echo 'sessions sometimes' >"$XDG_CONFIG_HOME/tbtui/config"
expect 1 tb --print-config
err_has "off, or a size as 4GB, is wanted"
rm "$XDG_CONFIG_HOME/tbtui/config"

expect 2 tb sessions nonsense
err_has 'no "nonsense" here'
expect 2 tb sessions rm
err_has 'which one'
expect 2 tb sessions list 1
exit 0
