#!/bin/sh
# store.sh - makes the folder that the screen tests look at, in ./models: two small
# models whose names, tensors and values are known, one with names that would do
# harm if they reached a terminal as they are, one that cannot be read.
set -e

# bytes N: N as 8 bytes, little-endian
bytes() {
	n=$1
	for i in 1 2 3 4 5 6 7 8; do
		# shellcheck disable=SC2059
		printf "\\$(printf %03o $((n % 256)))"
		n=$((n / 256))
	done
}

# values N: N times the F32 values 0.5 -0.25 1 0
values() {
	i=0
	while [ "$i" -lt "$1" ]; do
		printf '\000\000\000\077\000\000\200\276\000\000\200\077\000\000\000\000'
		i=$((i + 4))
	done
}

# tensors FILE: reads lines "NAME ROWS COLS", writes them as F32
tensors() {
	at=0 header='{'
	while read -r name rows cols; do
		end=$((at + 4 * rows * cols))
		header="$header\"$name\":{\"dtype\":\"F32\",\"shape\":[$rows,$cols],\"data_offsets\":[$at,$end]},"
		at=$end
	done
	header="${header%,}}"
	while [ $((${#header} % 8)) -ne 0 ]; do header="$header "; done
	{
		bytes ${#header}
		printf %s "$header"
		values $((at / 4))
	} >"$1"
}

# model NAME: a folder with a configuration; tensors come from standard input
model() {
	mkdir -p "models/$1"
	cat >"models/$1/config.json" <<-END
	{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":16}
	END
	printf '%s\n' 'Permission is hereby granted, free of charge, to any person.' \
		>"models/$1/LICENSE"
	tensors "models/$1/model.safetensors"
}

model alpha <<END
lm_head.weight 8 16
model.embed_tokens.weight 8 16
model.layers.0.mlp.down_proj.weight 16 16
model.layers.0.self_attn.q_proj.weight 16 16
model.layers.2.mlp.down_proj.weight 16 16
model.layers.2.self_attn.q_proj.weight 16 16
model.layers.10.mlp.down_proj.weight 16 16
model.layers.10.self_attn.q_proj.weight 16 16
model.norm.weight 1 16
END
model 模型-wide <<END
x.weight 4 4
END
model "$(printf 'evil\033[31mred')" <<'END'
a\u001b[31m.weight 4 4
END
mkdir models/broken
printf 'not a header' >models/broken/model.safetensors
echo '{"architectures":["LlamaForCausalLM"]}' >models/broken/config.json
find models -exec touch -d @1700000000 {} +
