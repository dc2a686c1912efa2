#!/bin/sh
# look: a model at a registry is shown as the same model here, and hardly any of it is read.
. "${srcdir:-.}/tests/cli/lib.sh"
. "${srcdir:-.}/tests/net/lib.sh"
net_needs docker-registry jq

here() { "$TBTUI" -d "$T/here.db" --store "$T/here" "$@"; }
far() { "$TBTUI" -d "$T/far.db" --store "$T/empty" "$@" --remote --insecure; }
# sent NAME: bytes of bodies that the server says it has sent since this was asked last
sent() {
	eval "sent_log=\$${1}_LOG"
	python3 -c '
import json, sys
print(sum(json.loads(l)["sent"] for l in open(sys.argv[1]) if l.startswith("{")))' "$sent_log"
	: >"$sent_log"
}
# left: what lies around of looks
left() { find "$TMPDIR" -maxdepth 1 -name 'tbtui-look-*' | grep . && fail "left of a look"; }

TMPDIR=$T/tmp
export TMPDIR
mkdir "$T/empty" "$TMPDIR"
"$TBTUI" demo "$T/here" >/dev/null 2>&1 || fail "demo"
registry_start A
library=$T/here/manifests/registry.ollama.ai/library
for model in demo/bf16 demo/int4 demo/mxfp8 demo-moe/nvfp4; do
	registry_put "$A_URL" "$T/here" "$library/$model" "library/${model%/*}" "${model#*/}"
done

# ---- the same as here ----
# without what differs: where it is, when it was written, what is free by now
same() { sed -E '/^(name|path|modified) /d; /^manifest /d; s/this machine has .*//'; }
models="demo:bf16 demo:int4 demo:mxfp8 demo-moe:nvfp4"
sanitized && models=demo-moe:nvfp4
for model in $models; do
	expect 0 here tensors "$model"
	cp "$T/out" "$T/want"
	expect 0 far tensors "$A/library/$model"
	cmp "$T/want" "$T/out" || fail "tensors of $model"
	expect 0 here show "$model"
	same <"$T/out" >"$T/want"
	expect 0 far show "$A/library/$model"
	has '^runs here +yes'
	has "^path +$A/library/[a-z-]+@sha256:"
	sed '/^Remote$/,/^$/d' "$T/out" | same | diff "$T/want" - || fail "show of $model"
	expect 0 here plan --no-errors -q q8_0 "$model"
	cp "$T/out" "$T/want"
	expect 0 far plan -q q8_0 "$A/library/$model"
	cmp "$T/want" "$T/out" || fail "plan of $model"
	for what in "--values 3:9,5:20" "--hex 4:100" "--stats --hist" "--block 2"; do
		for name in model.layers.1.mlp.down_proj.weight model.norm.weight; do
			case $model$name in
			demo-moe*mlp*) name=model.layers.1.self_attn.k_proj.weight ;;
			esac
			[ "$what$name" != "--values 3:9,5:20model.norm.weight" ] || what="--values 0:1,9:20"
			# shellcheck disable=SC2086
			expect 0 here tensor "$model" $name $what
			sed 's/ in [^ ]*$//; /^read /d; /^kept /d' "$T/out" >"$T/want"
			# shellcheck disable=SC2086
			expect 0 far tensor "$A/library/$model" $name $what
			sed 's/ in [^ ]*$//; /^read /d' "$T/out" | diff "$T/want" - ||
				fail "tensor $model $name $what"
		done
	done
done
expect 0 here plan -q int4 demo:bf16
cp "$T/out" "$T/want"
expect 0 far plan -q int4 --errors "$A/library/demo:bf16"
cmp "$T/want" "$T/out" || fail "plan with errors"
expect 0 far --json show "$A/library/demo:bf16"
jq -e '.remote | .to_come > 5000000 and .there == 0 and .runs_here and .bytes_moved < 100000 and
	.lacks == [] and .verified == false' "$T/out" >/dev/null || fail "show --json: $(jq .remote "$T/out")"
left

# what is here already does not come
expect 1 here verify
expect 0 "$TBTUI" -d "$T/here.db" --store "$T/here" --json show --remote --insecure "$A/library/demo:bf16"
jq -e '.remote | .to_come < 10000 and .bytes_moved < 10000' "$T/out" >/dev/null ||
	fail "it is here: $(jq .remote "$T/out")"

# ---- little comes ----
python3 "$srcdir/tests/net/far_store.py" "$T/big" || fail "far_store.py"
server_start O ollama_registry.py "$T/big"
expect 0 far tensors "$O/library/big" --json
jq -e '.tensors | length == 500' "$T/out" >/dev/null || fail "500 tensors"
moved=$(sent O)
[ "$moved" -lt 1000000 ] || fail "$moved bytes for the tensors of 2 GB"
said=$(jq .bytes_moved "$T/out")
[ "$said" -le "$moved" ] && [ "$said" -gt $((moved / 2)) ] || fail "$said said, $moved sent"
expect 0 far show "$O/library/big"
moved=$(sent O)
[ "$moved" -lt 1000000 ] || fail "$moved bytes to show 2 GB"
expect 0 far tensor "$O/library/big" model.layers.7.mlp.up_proj.weight --values 5:8,0:10
has '^5 +0 +0'
moved=$(sent O)
[ "$moved" -lt 1000000 ] || fail "$moved bytes for some values"
expect 0 far tensors "$O/library/huge" --json
jq -e '.tensors | length == 20000' "$T/out" >/dev/null || fail "20000 tensors"
jq -e '.tensors[19999].offset + 2097152 > 41000000000' "$T/out" >/dev/null || fail "offsets"
moved=$(sent O)
[ "$moved" -lt 8000000 ] || fail "$moved bytes for the tensors of 40 GB"

# ---- what is said of itself is not believed ----
expect 1 far show "$O/library/lies"
has 'header of 1099511627776 bytes, at most'
has '^runs here +no'
expect 1 far tensors "$O/library/lies"
has '^model.c.weight'
has_not '^model.a.weight'
expect 2 far tensors "$O/library/long"
err_has 'more would come from .* allowed \(--yes\)'
moved=$(sent O)
[ "$moved" -lt 1000000 ] || fail "$moved bytes for a header that should not come"
expect 1 far --yes tensors "$O/library/long"
expect 1 far tensors "$O/library/wrong"
err_has 'sends other bytes than its digest says'
expect 2 far tensors "$O/library/nosuch"
expect 2 far tensor "$O/library/huge" blk.7.ffn_up.weight --digest
expect 2 here show demo:bf16 --insecure
err_has 'goes with --remote'
expect 2 here show "docker://$O/library/big"
err_has '--remote looks at it where it lies'
expect 0 far show "docker://$A/library/demo:int4" --key hidden_size
has '^256$'
expect 0 far show "$O/library/huge" --modelfile
has "^FROM $O/library/huge:latest"
has_not "$TMPDIR"

# ---- who asks, and whom ----
registry_start B tls auth
registry_put "$B_URL" "$T/here" "$library/demo/int4" library/demo int4
safe() { "$TBTUI" -d "$T/far.db" --store "$T/empty" "$@" --remote; }
expect 2 safe tensors "$B/library/demo:int4"
err_has 'certificate'
expect 2 safe tensors "$B/library/demo:int4" --tls-skip-verify
err_has "$B"
mkdir "$T/docker"
printf '{"auths": {"%s": {"auth": "%s"}}}\n' "$B" \
	"$(printf '%s:%s' "$NET_USER" "$NET_PASSWORD" | base64)" >"$T/docker/config.json"
chmod 600 "$T/docker/config.json"
DOCKER_CONFIG=$T/docker expect 0 safe tensors "$B/library/demo:int4" --tls-skip-verify
err_has 'NOBODY CHECKS WHO ANSWERS'
expect 0 here tensors demo:int4
cp "$T/out" "$T/want"
DOCKER_CONFIG=$T/docker safe tensors "$B/library/demo:int4" --tls-skip-verify 2>/dev/null | cmp - "$T/want" ||
	fail "tensors over TLS"

# ---- servers that do otherwise ----
echo '[]' >"$T/plan"
server_start P proxy.py "$A_URL" --plan "$T/plan"
expect 0 here tensors demo:int4
cp "$T/out" "$T/want"
plan() {
	echo "$1" >"$T/plan"
	touch -d "+$((n += 1)) seconds" "$T/plan"
}
n=0
# all of it for a part: the first bytes are taken, the rest is not waited for
plan '[{"match": "GET .*/blobs/", "do": "whole", "times": 0}]'
expect 0 far tensors "$P/library/demo:int4"
cmp "$T/want" "$T/out" || fail "without ranges"
for fault in '"do": "cut", "at": 100' '"do": "status", "status": 503' '"do": "close"'; do
	plan "[{\"match\": \"GET .*/blobs/\", $fault, \"times\": 5}]"
	expect 0 far tensors "$P/library/demo:int4"
	cmp "$T/want" "$T/out" || fail "after $fault"
done
plan '[{"match": "GET .*/blobs/", "do": "status", "status": 416, "times": 0}]'
expect 1 far tensors "$P/library/demo:int4"
err_has 'shorter there than its manifest says'
plan '[{"match": "GET .*/blobs/", "do": "close", "times": 0}]'
expect 2 far tensors "$P/library/demo:int4"
left

# who is interrupted leaves nothing; what a killed one left, the next sweeps
stalled() {
	plan '[{"match": "GET .*/blobs/", "do": "stall", "at": 9, "seconds": 30, "times": 0}]'
	"$TBTUI" -d "$T/far.db" --store "$T/empty" tensors --remote --insecure "$P/library/demo:int4" \
		>"$T/out" 2>&1 &
	pid=$!
	for _ in $(seq 200); do
		[ -z "$(find "$TMPDIR" -name 'sha256-*' 2>/dev/null)" ] || break
		sleep 0.05
	done
	kill -"$1" $pid
	wait $pid 2>/dev/null
}
stalled TERM
left
stalled KILL
[ -n "$(find "$TMPDIR" -name 'tbtui-look-*')" ] || fail "a killed look leaves something, one would think"
expect 0 far tensors "$A/library/demo:int4"
left

# ---- hubs ----
unset HF_HUB_CACHE HUGGINGFACE_HUB_CACHE XDG_CACHE_HOME HF_TOKEN_PATH HUGGING_FACE_HUB_TOKEN
python3 "$srcdir/tests/net/far_store.py" "$T/hub" hub || fail "far_store.py hub"
server_start H hub.py "$T/hub"
hub() { HF_ENDPOINT=http://$H "$TBTUI" -d "$T/hub.db" --store "$T/cache" "$@"; }
sent H >/dev/null
expect 0 hub tensors hf:far/big --remote --json
jq -e '.tensors | length == 500' "$T/out" >/dev/null || fail "500 tensors of a hub"
moved=$(sent H)
[ "$moved" -lt 1000000 ] || fail "$moved bytes for the tensors of 2 GB of a hub"
expect 0 hub show hf:far/big --remote
has '^name +hf:far/big'
has '^pull +2.1 GB to load of 2.1 GB'
moved=$(sent H)
[ "$moved" -lt 1000000 ] || fail "$moved bytes to show 2 GB of a hub"
expect 0 hub tensors hf:far/big@main --remote
cp "$T/out" "$T/want"
expect 0 "$TBTUI" tensors "$T/hub/far/big/$(printf %040d 0 | tr 0 a)"
cmp "$T/out" "$T/want" || fail "tensors of a hub"
expect 0 hub tensor hf:far/big model.layers.400.mlp.up_proj.weight --values 0:1,0:4 --remote
has '^0 +0 +0'
expect 0 hub tensors hf:far/gguf:Q8_0 --remote --json
jq -e '(.tensors | length == 40) and (.tensors[0].file | test("big-Q8_0.gguf$"))' "$T/out" >/dev/null ||
	fail "a GGUF of a hub"
expect 2 hub tensors hf:far/gguf --remote
err_has 'Q4_K_M'
expect 2 hub tensors hf:far/none --remote
expect 2 hub tensors hf:far/big --remote --insecure
err_has 'HF_ENDPOINT'
# An address of the other host ends without a word: the hub is asked for a new one.
says=$T/hub/far/big/hub.json
jq '. + { uses: 2, hangs: true }' "$says" >"$T/says" && mv "$T/says" "$says"
expect 0 hub tensor hf:far/big model.layers.400.mlp.up_proj.weight --values 0:1,0:4 --remote
has '^0 +0 +0'
[ ! -e "$T/cache" ] || fail "a trace of what was only looked at"
left
exit 0
