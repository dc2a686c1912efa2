#!/bin/sh
# heal --remote: what nothing here has comes from the registry, and no more of it than is bad.
. "${srcdir:-.}/tests/cli/lib.sh"
. "${srcdir:-.}/tests/net/lib.sh"
net_needs docker-registry
registry_start A
server_start P proxy.py "$A_URL" --plan "$T/plan"
"$TBTUI" demo --random "$T/demo" >/dev/null || fail "no demo"
lib=$T/demo/manifests/registry.ollama.ai/library/demo
S=$T/store
mkdir -p "$S/blobs" "$S/manifests/$P/ns/m" "$XDG_CONFIG_HOME/tbtui"

# A model with a blob that is large beside a piece: what is in it need not be a model.
head -c 9000000 /dev/urandom >"$T/big"
big=$(sha256sum "$T/big" | cut -d' ' -f1)
cp "$T/big" "$T/demo/blobs/sha256-$big"
python3 - "$lib/int4" "$T/manifest" "$big" <<'END' || fail "no manifest"
import json, sys
m = json.load(open(sys.argv[1]))
m["layers"].append({"mediaType": "application/vnd.ollama.image.license",
		    "digest": "sha256:" + sys.argv[3], "size": 9000000})
json.dump(m, open(sys.argv[2], "w"))
END
registry_put "$A_URL" "$T/demo" "$T/manifest" ns/m a
cp "$T/manifest" "$S/manifests/$P/ns/m/a"
cp "$T/demo/blobs"/* "$S/blobs"
rm -rf "$T/demo"
tb() { "$TBTUI" --db "$T/index.db" -s "$S" "$@"; }
sent() { python3 -c '
import json, sys
print(sum(r.get("sent") or 0 for r in map(json.loads, open(sys.argv[1])) if "/blobs/" in r.get("path", "")))' "$P_LOG"; }
whole() { cmp "$T/big" "$S/blobs/sha256-$big" || fail "a blob is wrong: $1"; }
# what was taken away is a source, too, and here it shall be none
forget() { rm -rf "$S/.tbtui"; }
hurt() { printf XYZ | dd of="$S/blobs/sha256-$big" bs=1 seek="$1" conv=notrunc 2>/dev/null; }
expect 0 tb verify

# ---- without being told so nobody is asked ----
hurt 5000000
expect 1 tb heal
has 'not healed: no source has .* or --remote looks elsewhere$'
[ ! -s "$P_LOG" ] || fail "somebody was asked"
expect 1 tb heal --remote
has "not healed: .*$P"

# ---- the sums of pieces say where it is bad: only those come ----
echo "registry $P plain" >"$XDG_CONFIG_HOME/tbtui/config"
hurt 1
expect 0 tb heal --remote --dry-run
has "^    2\.1 MB at 2 places of it from $P/ns/m:a \(registry\)$"
before=$(sent)
expect 0 tb heal --remote --json
has '"from":"registry".*"ranges":\[\{"offset":0,"bytes":1048576\},\{"offset":4194304,"bytes":1048576\}\]'
has '"bytes_loaded":2097152'
moved=$(($(sent) - before))
[ "$moved" -ge 2097152 ] && [ "$moved" -lt 2200000 ] || fail "$moved bytes came"
whole "two pieces"
expect 0 tb verify
expect 0 tb undo 1 --yes
expect 1 tb verify

# ---- cut short, longer, gone ----
truncate -s 8500000 "$S/blobs/sha256-$big"
forget
expect 0 tb heal --remote --json
has '"ranges":\[\{"offset":0,"bytes":1048576\},\{"offset":4194304,"bytes":1048576\},\{"offset":8388608,"bytes":611392\}\]'
whole "cut short"
forget
printf more >>"$S/blobs/sha256-$big"
expect 0 tb heal --remote
whole "longer"
forget
rm "$S/blobs/sha256-$big"
expect 0 tb heal --remote
has "9\.0 MB from $P/ns/m:a \(registry\)"
whole "gone"

# ---- another model has the blob, too, and its registry is not there: this one has it ----
mkdir -p "$S/manifests/127.0.0.1:1/ns/a"
cp "$T/manifest" "$S/manifests/127.0.0.1:1/ns/a/a"
for words in "" "$P/ns/m:a"; do
	forget
	hurt 5000000
	# shellcheck disable=SC2086
	expect 0 tb heal --remote $words
	has "1\.0 MB .*from $P/ns/m:a \(registry\)"
	whole "of two models"
done
rm -r "$S/manifests/127.0.0.1:1"

# ---- one that was never verified: all of it ----
forget
rm "$T/index.db" "$T"/*.db 2>/dev/null
hurt 5000000
expect 0 tb heal --remote --json
has '"ranges":\[\].*"bytes_loaded":9000000'
whole "no sums"

# ---- a connection that breaks off: it is gone on from there ----
forget
rm "$S/blobs/sha256-$big"
echo '[{"match": "GET .*/blobs/", "do": "cut", "at": 5000000, "skip": 1, "times": 1}]' >"$T/plan"
before=$(sent)
expect 0 tb heal --remote
whole "a connection that breaks off"
moved=$(($(sent) - before))
[ "$moved" -ge 9000000 ] && [ "$moved" -lt 9500000 ] || fail "$moved bytes came"
grep -q '"cut"' "$P_LOG" || fail "nothing broke off"
rm "$T/plan"

# ---- a registry that knows no ranges: all of it comes, once ----
forget
expect 0 tb verify
hurt 5000000
hurt 8000000
echo '[{"match": "GET .*/blobs/", "do": "whole", "times": 0}]' >"$T/plan"
before=$(sent)
expect 0 tb heal --remote
whole "no ranges"
moved=$(($(sent) - before))
[ "$moved" -ge 9000000 ] && [ "$moved" -lt 30000000 ] || fail "$moved bytes came"
rm "$T/plan"

# ---- by another name, which says where ----
forget
mkdir -p "$S/manifests/registry.ollama.ai/library/mine"
mv "$S/manifests/$P/ns/m/a" "$S/manifests/registry.ollama.ai/library/mine/latest"
rm -r "$S/manifests/$P"
rm "$S/blobs/sha256-$big"
expect 0 tb heal mine --from "http://$P/ns/m:a"
has "healed 1 of 1"
whole "by another name"

# ---- a registry that is damaged itself puts nothing into the store ----
forget
data=$A_DIR/docker/registry/v2/blobs/sha256/$(echo "$big" | cut -c1-2)/$big/data
printf Q | dd of="$data" bs=1 seek=100 conv=notrunc 2>/dev/null
hurt 7
cp "$S/blobs/sha256-$big" "$T/hurt"
expect 1 tb heal mine --from "http://$P/ns/m:a"
has 'not healed: .*what came does not have the digest'
cmp "$S/blobs/sha256-$big" "$T/hurt" || fail "the old one was touched"
[ -z "$(find "$S" -name '.tbtui-tmp-*')" ] || fail "something is left"
exit 0
