# tokenize and template, from a directory and from a store.
. "${srcdir:-.}/tests/cli/lib.sh"
need_shared
model=$TBTUI_SHARED/data/models/stories260K/hf-f32

expect 0 "$TBTUI" --json tokenize "$model" "Once upon a time"
has '^\{"ids":\[1,403,407,261,378\],"pieces":\["<s>","▁Once","▁upon","▁a","▁time"\]\}$'
expect 0 "$TBTUI" --json tokenize --bare "$model" "<s>Once"
has '"ids":\[1,403\]'
expect 0 "$TBTUI" --json tokenize --bare --literal "$model" "<s>"
has_not '"ids":\[1\]'
expect 0 "$TBTUI" tokenize "$model" "a$(printf '\033')b"
has_not "$(printf '\033')"
printf 'Once upon a time' | "$TBTUI" --json tokenize "$model" - >"$T/out" || fail "standard input"
has '"ids":\[1,403,407,261,378\]'

echo '[{"role":"user","content":" Hi "},{"role":"assistant","content":"Ho"}]' >"$T/list.json"
printf '<s>Hi\nHo</s>' >"$T/want"
expect 0 "$TBTUI" template "$model" "$T/list.json"
cmp "$T/out" "$T/want" || fail "the rendered text differs"
echo '{"messages":[{"role":"user","content":"Hi"}]}' >"$T/object.json"
expect 0 "$TBTUI" --json template "$model" "$T/object.json"
has '^\{"text":"<s>Hi\\n"\}$'

mkdir -p "$T/store/blobs" "$T/store/manifests"
expect 0 "$TBTUI" -s "$T/store" import "$model" tiny
expect 0 "$TBTUI" -s "$T/store" --json tokenize tiny "Once upon a time"
has '"ids":\[1,403,407,261,378\]'

expect 2 "$TBTUI" template "$model" "$T/none.json"
err_has 'none.json'
echo '{}' >"$T/empty.json"
expect 2 "$TBTUI" template "$model" "$T/empty.json"
err_has 'no list of messages'
expect 2 "$TBTUI" tokenize "$T/nowhere" x
expect 2 "$TBTUI" tokenize "$model"

# the vocabulary, whatever the file
gguf=$TBTUI_SHARED/data/models/stories260K/stories260K-f32.gguf
for ref in "$model" "$gguf"; do
	expect 0 "$TBTUI" --json tokenize --spans "$ref" "Once  upon"
	has '^\{"ids":\[1,403,[0-9,]*407\],.*"spans":\[\[0,0\],\[0,4\],.*\[5,5\]\]\}$'
	expect 0 "$TBTUI" tokenize --decode 1,403,407,261,378 "$ref"
	has '^(<s>)?Once upon a time$'
	expect 0 "$TBTUI" tokenize --search ONCE "$ref"
	has '^ +403  normal .* ▁Once$'
	[ "$(wc -l <"$T/out")" -lt 9 ] || fail "too many are found"
	expect 0 "$TBTUI" tokenize --search "" "$ref"
	[ "$(wc -l <"$T/out")" -eq 512 ] || fail "not all are listed"
	has '^ +2  control +ends .*</s>$'
	expect 2 "$TBTUI" tokenize --decode 512 "$ref"
	err_has '512: no token'
	expect 2 "$TBTUI" tokenize --decode x "$ref"
	expect 2 "$TBTUI" tokenize --decode 1 "$ref" text
done
expect 0 "$TBTUI" --json tokenize --search "▁Once" "$gguf"
has '^\{"source":"GGUF","kind":"SentencePiece BPE","size":512,"tokens":\[\{"id":403,.*"text":" Once",'
expect 0 "$TBTUI" template "$gguf" "$T/list.json"
cmp "$T/out" "$T/want" || fail "the template of the GGUF renders otherwise"

# a folder without tokenizer.json
mkdir "$T/spm"
cp "$model/config.json" "$model/model.safetensors" "$model/tokenizer.model" "$T/spm"
expect 0 "$TBTUI" --json tokenize "$T/spm" "Once upon a time"
has '"ids":\[1,403,407,261,378\]'
rm "$T/spm/tokenizer.model"
expect 2 "$TBTUI" tokenize "$T/spm" x
err_has 'has no tokenizer'

# a model of Ollama's that is a GGUF: its own template, not the one for Go
put() {
	digest=$(sha256sum "$1" | cut -d' ' -f1)
	cp "$1" "$T/gguf/blobs/sha256-$digest"
	printf '{"mediaType":"application/vnd.%s","digest":"sha256:%s","size":%s}' "$2" "$digest" \
		"$(wc -c <"$1" | tr -d ' ')"
}
names=$T/gguf/manifests/registry.ollama.ai/library/tiny
mkdir -p "$T/gguf/blobs" "$names"
printf '{"model_format":"gguf"}' >"$T/config"
printf '{{ .Prompt }}' >"$T/go"
printf '{"schemaVersion":2,"config":%s,"layers":[%s,%s]}' \
	"$(put "$T/config" docker.container.image.v1+json)" \
	"$(put "$gguf" ollama.image.model)" "$(put "$T/go" ollama.image.template)" >"$names/latest"
expect 0 "$TBTUI" -s "$T/gguf" --json tokenize tiny "Once upon a time"
has '"ids":\[1,403,407,261,378\]'
expect 0 "$TBTUI" -s "$T/gguf" template tiny "$T/list.json"
cmp "$T/out" "$T/want" || fail "the template of the GGUF in a store renders otherwise"
