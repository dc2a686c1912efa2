#!/bin/sh
# ls, show, tensors, blobs, whose, sql: text and the JSON that programs rely on.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"

run 1 ls
err_has 'nothing is indexed yet'
run 1 --json ls
has '^\{"models":\[\]\}$'

model "$STORE" m10 latest 100
model "$STORE" m9 8b 200
run 0 scan
run 0 ls
[ "$(sed -n 2p "$T/out" | cut -d' ' -f1)" = m9:8b ] || fail "not in natural order"
has '^m10:latest +ollama-tensors +llama +384 +F32 '
run 0 ls --sort size --reverse 'm1*'
has '^m10:latest'
has_not '^m9'
run 1 ls nothing
err_has 'no indexed model fits'
run 2 ls --sort weight
err_has 'one of: name'
run 0 --json ls
for key in name kind path architecture parameters scheme size exclusive_size tensors state modified; do
	has "\"$key\":"
done
has '"parameters":384,"scheme":"F32"'
has '"architecture":"LlamaForCausalLM"'
has '"state":"never"'
# What both use (config, config.json, a tensor) is not exclusive.
size=$(sed 's/.*"size":\([0-9]*\),"exclusive_size":\([0-9]*\).*/\1 \2/' "$T/out")
shared=$(($(wc -c <"$COMMON") + 30 + 59))
# shellcheck disable=SC2086
set -- $size
[ $(($1 - $2)) -eq $shared ] || fail "size $1, exclusive $2, shared $shared"

run 0 show m9:8b
has '^architecture +LlamaForCausalLM'
has '^tensor +.*model.embed_tokens.weight'
run 0 --json show m9:8b
has '"config":\{"architectures":\["LlamaForCausalLM"\]'
has '"schemes":\[\{"scheme":"F32","tensors":3,"parameters":384,"bytes":1536\}\]'
run 2 show nobody
err_has 'nobody'

run 0 tensors m9:8b
[ "$(sed -n 3p "$T/out" | cut -d' ' -f1)" = model.layers.0.mlp.up_proj.weight ] ||
	fail "tensors are not in natural order"
run 0 --json tensors m9:8b -f up_proj --sort offset
has '^\{"model":"m9:8b","tensors":\[\{"name":"model.layers.0.mlp.up_proj.weight","dtype":"F32","shape":\[16,8\],"scheme":"F32","group_size":0,"bytes":512,"file":"/'
has '"offset":[0-9]+,"companions":\[\]'
run 1 tensors m9:8b -f nothing
run 2 tensors

run 0 blobs --shared
has '^3 files'
run 0 --json blobs --orphans
has '"blobs":\[\],"size":0'
run 2 blobs --orphans --shared
digest=${COMMON##*sha256-}
run 0 whose "$(echo "$digest" | cut -c1-12)"
has '^  m10:latest$'
has '^  m9:8b$'
has '^      tensor model.embed_tokens.weight at byte [1-9][0-9]+$'
cp "$OWN" "$T/copy"
run 0 whose "$T/copy"
has '^  m9:8b$'
has_not m10
run 0 --json whose "sha256:$digest"
has '"owners":2.*"models":\["m9:8b","m10:latest"\]'
has '"tensors":\[\{"model":"m9:8b","tensor":"model.embed_tokens.weight","offset":[1-9][0-9]+\},\{"model":"m10'
run 1 whose ffffffffffff
run 2 whose "$T/no-such-file"

run 0 sql 'SELECT name, tensors FROM models ORDER BY name'
has '^m10:latest	3$'
run 0 --json sql 'SELECT count(*) AS n FROM tensor_list'
has '"columns":\["n"\],"rows":\[\["6"\]\]'
run 0 sql
has '^tensor_list	model tensor scheme shape '
has '^hashes	path dev '
run 2 sql 'DELETE FROM models'
run 2 sql 'nonsense'
exit 0
