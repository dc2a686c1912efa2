# Architectures as other files of their families have them: heads of a state space in groups,
# a list instead of a pattern, no experts, tensors that nobody reads.  Hugging Face's files,
# the GGUF made of them and what is made of that again compute the same: what llama.cpp does.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
command -v python3 >/dev/null || skip "no python3"
A=$TBTUI_SHARED/data/models/arch

python3 "${srcdir:-.}/tests/cli/arch_vary.py" "$A" "$T" || fail "no models"
cd "$T" || exit 1

# follows MODEL IDS: greedily
follows() {
	expect 0 "$TBTUI" --json generate "$1" --exact --raw -p "Once upon a time" --temp 0 -n 12 \
		--ignore-eos
	has "\"ids\":\[$2\]"
}
# all NAME IDS
all() {
	expect 0 "$TBTUI" quantize -q keep "$1" "./$1.gguf"
	expect 0 "$TBTUI" quantize -q keep "./$1.gguf" "./$1.back"
	for model in "$1" "$1.gguf" "$1.back"; do
		follows "./$model" "$2"
	done
}

all groups 190,424,461,338,96,67,25,304,375,120,24,152
all listed 190,424,461,338,96,67,25,304,375,120,24,152
all dense 225,51,19,72,355,84,215,402,250,120,250,253
ids=$(python3 -c '
import json, sys
p = json.load(open(sys.argv[1]))["prompts"][0]
print(",".join(map(str, p["greedy_ids"][:12])))' "$A/gemma4_e/float64.json")
all idle "$ids"
exit 0
