#!/bin/sh
# What was mistyped is answered with what was meant.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"

expect 2 "$TBTUI" verfy
err_has 'no command "verfy"; did you mean "verify"\?'
expect 2 "$TBTUI" xyzzy
err_has 'no command "xyzzy"; "tbtui --help" lists them'
expect 2 "$TBTUI" --stroe x ls
err_has 'no option "--stroe"; did you mean "--store"\?'
expect 2 "$TBTUI" verify --depe
err_has 'no option "--depe"; did you mean "--deep"\?'
expect 2 "$TBTUI" ls --xyzzy
err_has 'no option "--xyzzy"; try --help'

model "$STORE" wombat latest 100
model "$STORE" llama 8b 200
run 2 show wombta
err_has 'wombta: no model or path of that name; did you mean "wombat"\?'
run 2 show llama:9b
err_has 'did you mean "llama:8b"\?'
run 2 show llama
err_has 'did you mean "llama:8b"\?'
run 2 show aardvark
err_has 'aardvark: no such path; no model of that name in '
run 2 tensor wombat model.layers.0.mlp.up_porj.weight
err_has 'no tensor model.layers.0.mlp.up_porj.weight; did you mean "model.layers.0.mlp.up_proj.weight" or '
run 2 tensor wombat layers.10.mlp.up_proj
err_has 'did you mean "model.layers.10.mlp.up_proj.weight"\?'

# A folder of models is no model.
mkdir -p "$T/folder/inner"
run 2 show "$T/folder"
err_has 'the folder is no model; -s .*/folder takes it for a store, with all models in it; no model'
expect 2 "$TBTUI" --db "$T/none.db" show wombat
err_has 'there is none; "tbtui stores add DIR" adds a folder of models$'

# A filter that fits no tensor says so.
run 1 tensors wombat -f q_porj
err_has 'no tensor of the model has a name like that'

# A destination that looks like a path.
mkdir -p "$T/src"
printf '{"architectures":["LlamaForCausalLM"],"model_type":"llama"}' >"$T/src/config.json"
st model.embed_tokens.weight 64 64 1 >"$T/src/model.safetensors"
STORE=$T/src
run 2 quantize "$T/src" out/cc -q int4
err_has 'if a folder is meant, write ./out/cc$'
run 2 quantize "$T/src" a/b/c/d/e -q int4
err_has 'if a folder is meant, write ./a/b/c/d/e$'
STORE=$T/store

# Who reads the output may stop: that is no failure, and nothing is said.
run 0 scan
i=0
while [ $i -lt 300 ]; do		# more than a pipe holds
	mkdir -p "$T/many/model-with-a-long-name-$i"
	ln "$T/src/model.safetensors" "$T/many/model-with-a-long-name-$i/"
	i=$((i + 1))
done
"$TBTUI" --db "$T/index.db" scan "$T/many" >/dev/null || fail scan
for args in "ls" "--json ls" "tensors wombat" "--help" "ls --help"; do
	# shellcheck disable=SC2086
	{ "$TBTUI" --db "$T/index.db" -s "$T/many" -s "$STORE" $args 2>"$T/err"; echo $? >"$T/status"; } |
		(exec <&-; sleep 0.2)
	[ "$(cat "$T/status")" -eq 0 ] || fail "exit status $(cat "$T/status") where nobody reads: $args"
	[ ! -s "$T/err" ] || fail "a message where nobody reads: $(cat "$T/err")"
done
if [ -c /dev/full ]; then
	"$TBTUI" --db "$T/index.db" ls >/dev/full 2>/dev/null
	[ $? -eq 2 ] || fail "a full disk is no failure"
fi
exit 0
