#!/bin/bash
# gen-quality.sh PROGRAM DATA >doc/quality.md - what each way to store weights costs two small
# trained models, measured on what the model itself writes: nothing else is as likely.
# DATA is the folder of the shared test data.  Takes some minutes.
set -eu
tbtui=$(realpath "$1")
data=$(realpath "$2")/data
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export TBTUI_DB=$dir/index.db LC_ALL=C.UTF-8 HOME=$dir
cd "$dir"

# text FIRST LAST: stories of those seeds.
text() {
	for seed in $(seq "$1" "$2"); do
		"$tbtui" generate "$data/models/stories260K/hf-f32" -p "Once upon a time" --temp 1 \
			--top-k 0 --top-p 1 --min-p 0 -n 480 --seed "$seed" --ignore-eos
	done
}
number() { sed 's/.*"'"$1"'":\([-0-9.e+]*\).*/\1/'; }
perplexity() { printf %.3f "$("$tbtui" perplexity "$1" eval.txt --json | number perplexity)"; }

# size MODEL: kB of tensor data, bits a weight.
weights() { "$tbtui" show "$1" --json | sed 's/.*"memory":{"weights":\([0-9]*\).*/\1/'; }
size() {
	params=$("$tbtui" show "$1" --json | sed 's/"parameters":\([0-9]*\).*/\n\1/' | sed -n 2p)
	awk -v b="$(weights "$1")" -v p="$params" 'BEGIN { printf "%.0f | %.2f", b / 1000, b * 8 / p }'
}

# made NAME OPTION...: perplexity of the source once it went through that, and its size;
# "" where that cannot be.
made() {
	to=$1
	shift
	rm -rf "$to"
	"$tbtui" quantize source "./$to" "$@" >/dev/null 2>made.err || return 1
	perplexity "./$to"
}

scheme_row() {
	local usual searched weighted fed
	usual=$(made out -q "$1" --policy uniform)
	sizes=$(size ./out)
	searched=$(made out -q "$1" --policy uniform --search)
	weighted=$(made out -q "$1" --policy uniform --imatrix matters)
	fed=$(made out -q "$1" --policy uniform --imatrix matters --feedback)
	echo "| $1 | $sizes | $usual | $searched | $weighted | $fed |"
}

# policy_row WORDS TO OPTION...: with nothing and with importance.
policy_row() {
	local words=$1 to=$2 plain weighted fed='–'
	shift 2
	plain=$(made "$to" "$@") || return 0
	sizes=$(size "./$to")
	weighted=$(made "$to" "$@" --imatrix matters) || weighted='–'
	case $to in
	*.gguf) ;;
	*) fed=$(made "$to" "$@" --imatrix matters --feedback) || fed='–' ;;
	esac
	echo "| $words | $sizes | $plain | $weighted | $fed |"
}

model() {
	local name=$1 source=$2 reference
	shift 2
	rm -rf source
	"$tbtui" quantize "$source" ./source -q bf16 >/dev/null 2>&1
	"$tbtui" calibrate ./source calibration.txt -o matters --gram -f >/dev/null 2>&1
	printf '## %s\n\n' "$name"
	printf 'The source: %s; in BF16, from which all of the following is made: %s.\n\n' \
		"$(perplexity "$source")" "$(perplexity ./source)"
	echo '| scheme, all that fits | kB | bits | rounded | `--search` | `--imatrix` | `--feedback` |'
	echo '|---|---:|---:|---:|---:|---:|---:|'
	for s in affine:2:32 affine:2:64 affine:3:32 affine:3:64 affine:4:32 int4 affine:5:64 \
		affine:6:64 int8 mxfp4 nvfp4 mxfp8; do
		scheme_row "$s"
	done
	printf '\n| policy | kB | bits | rounded | `--imatrix` | `--feedback` |\n'
	echo '|---|---:|---:|---:|---:|---:|'
	policy_row 'ollama, int4' out -q int4
	policy_row 'ollama, nvfp4' out -q nvfp4
	for mix in mixed_2_6 mixed_3_4 mixed_3_6 mixed_4_6; do
		policy_row "mlx:$mix" out --policy "mlx:$mix"
	done
	for bits in 3 4 4.5 5 6; do
		policy_row "budget:${bits}bpw" out --policy "budget:${bits}bpw"
	done
	for type in Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K_M Q4_K_M Q5_K_M Q6_K IQ4_NL IQ4_XS; do
		policy_row "llama:$type, GGUF" out.gguf --policy "llama:$type"
	done
	if [ -n "$(made out.gguf --policy llama:Q4_K_M)" ]; then
		bytes=$(weights ./out.gguf)
		policy_row "budget: the size of llama:Q4_K_M, GGUF" out.gguf --policy "budget:$bytes"
		policy_row "the same, MLX" out --policy "budget:$bytes"
	fi
	printf '\n| made by llama-quantize, without importance | kB | bits | perplexity |\n'
	echo '|---|---:|---:|---:|'
	for reference in "$@"; do
		"$tbtui" show "$reference" >/dev/null 2>&1 || continue
		echo "| $(basename "$reference" .gguf | sed 's/.*-//') | $(size "$reference") | $(perplexity "$reference") |"
	done
	echo
}

text 1 16 >calibration.txt
text 101 116 >eval.txt
cat <<'END'
# What quantizing costs

Made by `make quality SHARED=FOLDER` (`doc/gen-quality.sh`), which measures it all again. Perplexity, less is better, of 16 stories
that the model itself wrote in F32 at temperature 1: no other model can be better at them, so that whatever is above the
source's figure was lost on the way. Calibration reads 16 other stories. The models are small (260,000 weights of
which a part is padding with zeros, so that blocks of 32 and 256 fit): each weight matters more than in large ones.

*rounded*: as MLX, Ollama or llama.cpp would. `--search`: scales and biases with the least error. `--imatrix`: the same, errors
counted by importance (for ggml's types as llama-quantize does; a budget is spent by it, too). `--feedback`: columns make up for
what others lost. The format is the same in all of them, and so is the size, but for budgets, which choose anew.

END
model 'stories260K-pad192' "$data/models/stories260K-pad192/hf-f32" \
	"$data"/models/stories260K-pad192/*-{Q4_0,Q4_1,Q5_0,Q5_1,Q8_0,IQ4_NL}.gguf
model 'stories260K-wide256' "$data/models/stories260K-wide256/hf" \
	"$data"/models/stories260K-wide256/*-{Q2_K,Q3_K_M,Q4_K_M,Q5_K_M,Q6_K,IQ4_XS,Q8_0}.gguf
