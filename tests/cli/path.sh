#!/bin/sh
# "tbtui PATH" where there is no screen: what show and ls would print.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"

tb() {
	status=$1
	shift
	expect "$status" "$TBTUI" "$@"
}
model "$STORE" one latest 100
model "$STORE" two 8b 200
tb 0 "$STORE"
has '^one:latest '
has '^two:8b '
tb 0 "$STORE" --json
has '"name":"two:8b"'
tb 0 "$MANIFEST"
has '^name +two:8b$'
mkdir -p "$T/work/tiny"
printf '{"architectures":["LlamaForCausalLM"],"model_type":"llama"}' >"$T/work/tiny/config.json"
st x.weight 4 4 1 >"$T/work/tiny/model.safetensors"
cd "$T/work" || exit 99
tb 0 tiny
has '^name +tiny$'
tb 0 ./tiny/model.safetensors
has '^kind +safetensors-file'
tb 0 . --json
has '"path":"[^"]*/work/tiny"'
tb 2 ./nothing
err_has '^tbtui: ./nothing: no such file or folder'
tb 2 tiny/config.json
err_has 'holds no model I know'
mkdir empty
tb 1 empty
tb 2 tinny
err_has 'no command "tinny"'
tb 2 tiny more
# A command's name is a command.
mkdir ls
tb 0 ls
has '^two:8b '

# A store in a store: what is below is listed, whichever was scanned first; a file is one.
rm -rf "$XDG_DATA_HOME"
mkdir -p "$T/deep/a/b"
cp -r tiny "$T/deep/a/one"
cp -r tiny "$T/deep/a/b/two"
cp tiny/model.safetensors "$T/deep/a/single.safetensors"
tb 0 scan "$T/deep"
has '^3 models'
tb 0 -s "$T/deep/a/b" ls
has '^a/b/two '
has_not '^a/one '
tb 0 "$T/deep/a"
has '^a/one '
rm -rf "$XDG_DATA_HOME"
tb 0 scan "$T/deep/a/single.safetensors"
has '^1 model: 1 added'
tb 0 show single.safetensors
tb 0 verify
has_not outside
tb 0 stores
has '/single.safetensors +scanned +indexed +1 '
tb 0 scan
has '0 removed, 1 unchanged'
tb 2 scan "$T/work/tiny/config.json"
tb 0 stores
has_not config.json
exit 0
