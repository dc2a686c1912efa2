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
