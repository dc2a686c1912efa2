# quantize --search, --imatrix, --feedback: the same format, and less lost.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
M=$TBTUI_SHARED/data/models/stories260K-pad192/hf-f32
cd "$T" || exit 99

# What the model itself writes is what it should go on writing.
for seed in 1 2 3 4 5 6 7 8 9 10 11 12; do
	"$TBTUI" generate "$M" -p "Once upon a time" --temp 1 --top-k 0 --top-p 1 --min-p 0 -n 480 \
		--seed $seed --ignore-eos || fail "no text"
done >text
expect 0 "$TBTUI" calibrate "$M" text -o products --gram -n 20
expect 0 "$TBTUI" calibrate "$M" text -o plain -n 20

# nll SCHEME OPTION...: of the text, once a model has been through that.
nll() {
	q=$1
	shift
	rm -rf made
	expect 0 "$TBTUI" quantize "$M" ./made -q "$q" --policy uniform "$@"
	expect 0 "$TBTUI" verify ./made
	expect 0 "$TBTUI" perplexity ./made text --json
	nll=$(sed 's/.*"nll":\([0-9.]*\).*/\1/' "$T/out")
}
less() {
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }' || fail "$3: $1, not less than $2"
}
for q in affine:3:64 int4 nvfp4; do
	nll $q
	usual=$nll
	nll $q --search
	less "$nll" "$usual" "$q --search"
	nll $q --imatrix plain
	less "$nll" "$usual" "$q --imatrix"
	nll $q --imatrix products --feedback
	less "$nll" "$usual" "$q --feedback"
done

# The same bytes whatever the CPU can do, and however many threads.
expect 0 "$TBTUI" quantize "$M" ./a -q int4 --imatrix products --feedback
TBTUI_CPU=scalar expect 0 "$TBTUI" -t 1 quantize "$M" ./b -q int4 --imatrix products --feedback
cmp a/model.safetensors b/model.safetensors || fail "another CPU, other bytes"

# What was begun otherwise is not gone on with.
expect 0 "$TBTUI" quantize "$M" ./d -q int4 --imatrix products --part 1/1
expect 0 "$TBTUI" quantize "$M" ./d -q int4 --imatrix products --feedback --part 1/1
expect 0 "$TBTUI" quantize "$M" ./d -q int4 --imatrix products --feedback --assemble
cmp a/model.safetensors d/model.safetensors || fail "parts of another conversion were taken"

# What cannot be done is said before anything is written.
expect 2 "$TBTUI" quantize "$M" ./c.gguf -q q4_0 --search
err_has '--search is for the schemes of MLX'
expect 2 "$TBTUI" quantize "$M" ./c.gguf -q q4_0 --imatrix products --feedback
err_has '--feedback is for the schemes of MLX'
expect 2 "$TBTUI" quantize "$M" ./c -q int4 --feedback
err_has '--feedback needs --imatrix FILE'
expect 2 "$TBTUI" quantize "$M" ./c -q int4 --imatrix plain --feedback
err_has 'plain: has no products of columns: make it with tbtui calibrate --gram'
expect 2 "$TBTUI" quantize "$TBTUI_SHARED/data/models/stories260K-wide256/hf" ./c -q int4 \
	--imatrix plain
err_has 'plain is not for this model: .* has 1 x 256'
expect 2 "$TBTUI" quantize "$M" ./c -q int4 --imatrix text
err_has 'text: no importance matrix'
[ ! -e c ] || fail "something was written"
