# store.sh - sourced after lib.sh: small Ollama stores made by hand, from the format's
# description and not by the program that is tested.

# le64 N: eight bytes, little endian.
le64() {
	n=$1
	i=0
	while [ $i -lt 8 ]; do
		# shellcheck disable=SC2059
		printf "\\$(printf %03o $((n % 256)))"
		n=$((n / 256))
		i=$((i + 1))
	done
}

# bytes N SEED: N bytes that depend on SEED.
bytes() {
	awk -v n="$1" -v s="$2" 'BEGIN {
		for (i = 0; i < n; i++) { s = (s * 1103 + 12345) % 65536; printf "%c", 33 + s % 90 }
	}'
}

# st NAME ROWS COLS SEED: an F32 tensor as a safetensors file on standard output.
st() {
	size=$(($2 * $3 * 4))
	head="{\"$1\":{\"dtype\":\"F32\",\"shape\":[$2,$3],\"data_offsets\":[0,$size]}}"
	while [ $((${#head} % 8)) -ne 0 ]; do head="$head "; done
	le64 ${#head}
	printf '%s' "$head"
	bytes $size "$4"
}

# blob STORE: the file $T/blob becomes one; DIGEST and SIZE say what came out.
blob() {
	mkdir -p "$1/blobs"
	DIGEST=sha256:$(sha256sum <"$T/blob" | cut -d' ' -f1)
	SIZE=$(($(wc -c <"$T/blob")))
	touch -d '2 days ago' "$T/blob"		# a young one is no orphan yet
	mv "$T/blob" "$1/blobs/sha256-${DIGEST#sha256:}"
}

# layer MEDIA [NAME]: of the last blob, for the list of layers.
layer() {
	printf '{"mediaType":"application/vnd.ollama.image.%s","digest":"%s","size":%d%s}' \
		"$1" "$DIGEST" "$SIZE" "${2:+,\"name\":\"$2\"}"
}

# model STORE NAME TAG SEED: config, config.json, a tensor that all models share and
# two of its own. Sets MANIFEST, OWN (the path of a blob of its own) and COMMON.
model() {
	printf '{"model_format":"safetensors"}' >"$T/blob"
	blob "$1"
	config="{\"mediaType\":\"application/vnd.docker.container.image.v1+json\",\"digest\":\"$DIGEST\",\"size\":$SIZE}"
	printf '{"architectures":["LlamaForCausalLM"],"model_type":"small"}' >"$T/blob"
	blob "$1"
	layers=$(layer json config.json)
	st model.embed_tokens.weight 8 16 7 >"$T/blob"
	blob "$1"
	layers=$layers,$(layer tensor model.embed_tokens.weight)
	COMMON=$1/blobs/sha256-${DIGEST#sha256:}
	st model.layers.0.mlp.up_proj.weight 16 8 "$4" >"$T/blob"
	blob "$1"
	layers=$layers,$(layer tensor model.layers.0.mlp.up_proj.weight)
	st model.layers.10.mlp.up_proj.weight 16 8 "$(($4 + 1))" >"$T/blob"
	blob "$1"
	layers=$layers,$(layer tensor model.layers.10.mlp.up_proj.weight)
	OWN=$1/blobs/sha256-${DIGEST#sha256:}
	MANIFEST=$1/manifests/registry.ollama.ai/library/$2/$3
	mkdir -p "${MANIFEST%/*}"
	printf '{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json","config":%s,"layers":[%s]}\n' \
		"$config" "$layers" >"$MANIFEST"
}

# flip FILE OFFSET: one bit, and the time stays.
flip() {
	touch -r "$1" "$T/when"
	byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
	# shellcheck disable=SC2059
	printf "\\$(printf %03o $((byte ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
	touch -r "$T/when" "$1"
}

# run STATUS ARGUMENT...: the program on the store $STORE with an index of its own.
run() {
	status=$1
	shift
	expect "$status" "$TBTUI" --db "$T/index.db" -s "$STORE" "$@"
}

STORE=$T/store
