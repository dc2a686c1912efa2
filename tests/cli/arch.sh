# Architectures: small models of random weights compute what others computed of them, from
# Hugging Face's files, from a GGUF, and as a model of tensor layers; experts stacked or not,
# and with other schemes they run.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
command -v python3 >/dev/null || skip "no python3"
A=$TBTUI_SHARED/data/models/arch

tb() {
	"$TBTUI" --store "$T/store" --db "$T/index.db" "$@"
}
# runs NAME: something comes out.
runs() {
	expect 0 tb --json generate "$1" -p "Once upon a time" --temp 0 -n 4 --ignore-eos
	has '"ids":\[[0-9]+,[0-9]+,[0-9]+,[0-9]+\]'
}

# same NAME FILE MODEL...: each computes what FILE says.
same() {
	name=$1 file=$2
	shift 2
	python3 "${srcdir:-.}/tests/cli/arch.py" "$TBTUI" "$A/$name" "$file" "store=$T/store" "$@" \
		>"$T/bad" || fail "$name: $(cat "$T/bad")"
}

sanitized && once=yes || once=
for dir in "$A"/*/; do
	m=$(basename "$dir")
	mkdir -p "$T/store/blobs" "$T/store/manifests"
	expect 0 tb import "$A/$m/hf" "$m"
	hf=float64-hf.json	# where config.json says more than a GGUF
	[ -e "$A/$m/$hf" ] || hf=float64.json
	same "$m" "$hf" "$A/$m/hf" "$m"
	for form in hf model.gguf; do
		expect 0 tb --json show "$A/$m/$form"
		has '"work":[1-9][0-9]*,"contexts":\[\{"context":[0-9]+,"kv_f32":[1-9]'
	done
	same "$m" float64.json "$A/$m/model.gguf"
	[ -z "$once" ] || { rm -rf "$T/store" "$T/index.db"; continue; }
	for scheme in int4 mxfp8; do
		expect 0 tb quantize -q $scheme "$A/$m/hf" "$m:$scheme"
		runs "$m:$scheme"
	done
	case $(cat "$A/$m/hf/config.json") in
	*experts*)
		for way in stacked per-expert; do
			expect 0 tb quantize -q int8 --experts $way "$A/$m/hf" "$m:$way"
			expect 0 tb logits "$m:$way" -p "Once upon a time" --json --exact
			cp "$T/out" "$T/$way"
		done
		cmp "$T/stacked" "$T/per-expert" || fail "$m: stacked experts compute something else"
		;;
	esac
	rm -rf "$T/store" "$T/index.db"
done
# gpt-oss as Ollama's own program writes it.
python3 "${srcdir:-.}/tests/cli/gptoss.py" "$A/gpt_oss/model.gguf" "$T/gptoss.gguf"
same gpt_oss float64.json "$T/gptoss.gguf"
exit 0
