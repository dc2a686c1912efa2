#!/bin/sh
# audit export: models of a run, or named ones, as CycloneDX 1.6: digests, files, licences
# as models name them and as texts.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"
command -v python3 >/dev/null || skip "no python3"
run() {
	status=$1
	shift
	expect "$status" "$TBTUI" --db "$T/index.db" -s "$T/store" -s "$T/dir" "$@"
}
bom() {
	run 0 audit export --cyclonedx "$@"
	cp "$T/out" "$T/bom.json"
	python3 "$srcdir/tests/cli/bom.py" "$T/bom.json" >"$T/out" || exit 1
}

# An Ollama model with two licences, one of them known by its text.
model "$T/store" one 8b 100
printf '\n   Apache License\n  Version 2.0, January 2004\n and so on' >"$T/blob"
blob "$T/store"
add=$(layer license)
printf '# My own licence\nabsolutely nothing' >"$T/blob"
blob "$T/store"
sed -i "s|\"layers\":\[|\"layers\":[$add,$(layer license),|" "$MANIFEST"
# Folders: what README.md says with its text, a name of its own, a text alone, nothing; a file.
for name in readme own text none; do
	mkdir -p "$T/dir/$name"
	st a 2 4 1 >"$T/dir/$name/model.safetensors"
	printf '{"architectures":["Small1ForCausalLM"],"model_type":"small1"}' >"$T/dir/$name/config.json"
done
printf -- '---\nlanguage: en\nlicense: "MIT" # ours\n---\nlicense: wrong\n' >"$T/dir/readme/README.md"
printf 'Permission and so on' >"$T/dir/readme/LICENSE"
printf -- '---\nlicense: other\nlicense_name: their "very\033[1m own\n---\n' >"$T/dir/own/README.md"
printf 'mit\n' >"$T/dir/text/LICENSE"
printf 'license: mit\n' >"$T/dir/none/README.md"
# A GGUF that says it all in its keys.
python3 - "$T/dir/file.gguf" <<'PY'
import struct, sys
s = lambda t: struct.pack("<Q", len(t)) + t.encode()
keys = {"general.architecture": "small1", "general.license": "cc-by-nc-4.0", "general.author": "She",
    "general.description": "A small one", "general.base_model.0.name": "Elder",
    "general.base_model.1.name": "Older"}
data = b"GGUF" + struct.pack("<IQQ", 3, 1, len(keys))
for k, v in keys.items():
    data += s(k) + struct.pack("<I", 8) + s(v)
data += s("a") + struct.pack("<IQIQ", 1, 4, 0, 0)
data += b"\0" * (-len(data) % 32) + struct.pack("<4f", 1, 2, 3, 4)
open(sys.argv[1], "wb").write(data)
PY

# What was never verified has no digests to tell.
run 2 audit export --cyclonedx
err_has 'nothing was verified'
run 2 audit export --cyclonedx "$T/dir/none"
err_has 'was never verified.*tbtui verify .*dir/none'
run 0 verify
bom
has '^file.gguf;-;structure;hash;1;CC-BY-NC-4.0;0;small1;Elder|Older$'
has '^none;-;structure;hash;2;-;0;small1;-$'
has '^one;8b;hashed;hash;8;Apache-2.0/My own licence;2;[a-z]+;-$'
has '^own;-;structure;hash;2;their;0;small1;-$'
has '^readme;-;structure;hash;2;MIT;1;small1;-$'
has '^text;-;structure;hash;2;MIT;1;small1;-$'
hex=$(sha256sum "$MANIFEST" | cut -d' ' -f1)
grep -q "\"name\":\"one\",\"version\":\"8b\",\"hashes\":\[{\"alg\":\"SHA-256\",\"content\":\"$hex\"}\]" "$T/bom.json" ||
	fail "a model's hash is not that of its manifest"
bom 1
bom one:8b "$T/dir/file.gguf"
[ "$(wc -l <"$T/out")" -eq 2 ] || fail "not the two that were named"

# One that is gone meanwhile is still told of; a damaged one has no digest of what it was.
rm -r "$T/dir/own"
bom 1
has '^own;-;structure;hash;2;-;0;-;-$'
rm "$T/dir/none/config.json"
flip "$OWN" 300
run 1 verify
bom
has '^one;8b;damaged;hash;'

# What is there and cannot be read is no text that is not there.
rm "$T/dir/readme/README.md"
mkdir "$T/dir/readme/README.md"
bom
grep -q '"tbtui:problem","value":"[^"]*README.md' "$T/bom.json" || fail "nothing is said of README.md"

# Into a file: whole, asked before one goes, no folders made.
run 0 audit export --cyclonedx -o "$T/a.json"
python3 "$srcdir/tests/cli/bom.py" "$T/a.json" >/dev/null || exit 1
run 2 audit export --cyclonedx -o "$T/a.json"
err_has 'exists already. Replace it\?'
run 0 audit export --cyclonedx -y -o "$T/a.json"
run 2 audit export --cyclonedx -o "$T/no/a.json"
[ ! -e "$T/no" ] || fail "a folder was made"
run 2 audit export --cyclonedx -o "$T/b.json" 99
[ ! -e "$T/b.json" ] || fail "half a document was left"
run 2 audit export
err_has 'export --cyclonedx'
exit 0
