#!/bin/sh
# The configuration file, "stores", and what somebody sees who has no models.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/cli/store.sh"

tb() {
	status=$1
	shift
	expect "$status" "$TBTUI" "$@"
}
unset XDG_CACHE_HOME
CONFIG=$XDG_CONFIG_HOME/tbtui/config

# Nothing at all: where it looked, and what to do.
for command in ls scan verify stores; do
	case $command in ls | stores) want=1 ;; *) want=2 ;; esac
	tb $want $command
	err_has '^  ~/\.ollama/models +not there$'
	err_has '^  ~/\.cache/huggingface/hub +not there$'
	err_has '^tbtui stores add DIR '
	err_has '^tbtui demo '
done
tb 1 ls --json
has '^\{"models":\[\]\}$'
[ "$(wc -l <"$T/err")" -eq 1 ] || fail "text beside JSON"
mkdir -p "$HOME/.ollama/models"
tb 1 ls
err_has '^  ~/\.ollama/models +empty$'
model "$HOME/.ollama/models" usual latest 10
tb 1 ls
err_has '^  ~/\.ollama/models +not scanned yet$'
err_has '^tbtui scan '
rm -rf "$HOME/.ollama"

# A demo without a name.
(cd "$T" && "$TBTUI" demo --random >"$T/out") || fail demo
has '^look at it with: tbtui '
[ -d "$T/tbtui-demo/manifests" ] || fail "no demo"
rm -rf "$T/tbtui-demo"

# add: the file is made; a store is known without a scan.
model "$STORE" one latest 100
tb 0 stores add "$STORE"
has ': added; "tbtui scan"'
grep -qx "store $STORE" "$CONFIG" || fail "not in the configuration"
tb 0 show one
tb 0 stores add "$STORE/"
has 'is one of the stores already'
[ "$(grep -c '^store' "$CONFIG")" -eq 1 ] || fail "twice in the configuration"
tb 0 stores
has "^$STORE +config +not scanned yet +0 "
tb 0 scan
tb 0 stores list
has "^$STORE +config +indexed +1 .* 20"
tb 0 stores --json
has "^\{\"stores\":\[\{\"path\":\"$STORE\",\"from\":\"config\",\"state\":\"indexed\",\"models\":1,\"size\":[0-9]+,\"exclusive\":[0-9]+,\"shared\":0,\"orphans\":[0-9]+,\"leftovers\":0,\"quarantine\":0,\"scanned\":\"20"
tb 0 stores -a
has "^$HOME/.ollama/models +usual +not there"
tb 2 stores add "$T/nowhere"
err_has 'there is no such folder'
tb 2 stores add
tb 2 stores lits
err_has 'list, add DIR or remove DIR'

# What people wrote stays as it is, also behind a link, with blanks, without a line end.
mkdir -p "$T/my disk/a \"b\"" "$T/dotfiles"
mv "$CONFIG" "$T/dotfiles/tbtui"
ln -s "$T/dotfiles/tbtui" "$CONFIG"
printf '# mine\n\n  store   "%s"  \n# the end' "$T/my disk" >>"$T/dotfiles/tbtui"
chmod 600 "$T/dotfiles/tbtui"
tb 0 stores
has "^$T/my disk +config +not scanned"
tb 0 stores add "$T/my disk/a \"b\""
[ -L "$CONFIG" ] || fail "a link was replaced"
[ "$(stat -c %a "$T/dotfiles/tbtui")" = 600 ] || fail "another mode"
tb 0 stores
has "^$T/my disk/a \"b\" +config"
tb 0 stores remove "$T/my disk"
tb 0 stores remove "$T/my disk/a \"b\""
grep -q '^# mine$' "$T/dotfiles/tbtui" || fail "a comment is gone"
grep -q '^# the end$' "$T/dotfiles/tbtui" || fail "a comment is gone"
[ "$(grep -c store "$T/dotfiles/tbtui")" -eq 1 ] || fail "$(cat "$T/dotfiles/tbtui")"

# remove: from the configuration and the index, not from the disk.
tb 0 stores remove "$STORE"
has 'the index has forgotten 1 model,'
[ -d "$STORE/manifests" ] || fail "files are gone"
tb 1 stores
tb 2 show one
tb 2 stores remove "$STORE"
err_has 'is none of the stores'
tb 0 scan "$STORE"
tb 0 stores
has "^$STORE +scanned +indexed +1 "
tb 2 stores remove "$T/sotre"
err_has "did you mean \"$STORE\"\?"
mv "$STORE" "$T/away"
tb 0 stores
has "^$STORE +scanned +not there +1 "
tb 0 stores remove "$STORE"
tb 1 stores
mv "$T/away" "$STORE"
mkdir -p "$HOME/.lmstudio/models"
tb 2 stores remove "$HOME/.lmstudio/models"
err_has 'one of the usual places'

# Mistakes are told with file and line and stop nothing.
cat >"$CONFIG" <<END
# comment
stroe /x
store $STORE
store relative/path
store
store "unfinished
key models x
END
tb 0 show one
err_has "^tbtui: $CONFIG:2: no setting \"stroe\"; did you mean \"store\"\?$"
err_has ':4: "relative/path": a store begins with / or ~/$'
err_has ':5: "store DIR" is wanted$'
err_has ':6: the closing " is missing$'
err_has ':7: "key VIEW KEY ACTION" is wanted$'
[ "$(wc -l <"$T/err")" -eq 5 ] || fail "told more than once: $(cat "$T/err")"
printf 'store ~/in-home\n' >"$CONFIG"
mkdir -p "$HOME/in-home"
tb 0 stores
has "^$HOME/in-home +config +empty"
printf 'store %s\n' "$T/unplugged" >"$CONFIG"
tb 0 scan
has "^away +$T/unplugged"
tb 2 verify

# What can be set: printed as a file that sets the same, and as data/config has it.
rm -f "$CONFIG"
tb 0 --print-config
cp "$T/out" "$T/default"
has '^key models v verify$'
has '^color head 73 default bold$'
has '^columns models name arch .* modified'
sed 's/^#\([a-z][a-z]* \)/\1/' "$srcdir/data/config" >"$CONFIG"
tb 0 --print-config
grep -v '^key' "$T/default" >"$T/a"
grep -v '^key' "$T/out" | cmp - "$T/a" || fail "data/config does not set what is"
sort -u "$T/default" >"$T/a"
sort -u "$T/out" | cmp - "$T/a" || fail "data/config does not set what is"
cat >"$CONFIG" <<END
registry ghcr.io skip-verify ca "/a b/c" mirror http://m.example/x auth n.example:9 mirror https://o.example
registry a/b plain
registry a.example ca relative
registry a.example mirror nowhere
registry a.example plian
registry a.example auth https://b.example
END
tb 1 --print-config
has '^registry ghcr.io skip-verify ca "/a b/c" mirror http://m.example/x auth n.example:9 mirror https://o.example$'
[ "$(grep -c '^registry' "$T/out")" -eq 1 ] || fail "a line that is not understood"
err_has ':2: "a/b": the host of a registry is wanted'
err_has ':3: "ca": plain, skip-verify'
err_has ':4: "mirror": '
err_has ':5: "plian": '
err_has ':6: "auth": '
cat >"$CONFIG" <<END
store $T/a store
store "$T/a store"
key models W verify
key all v none
key moddels v verify
key models v verfy
key models Entre verify
color haed red default
color head mauve default
color head red default shiny
color ok 200 blue bold underline
columns models size nmae name
columns chat name
END
tb 1 --print-config
has '^key models W verify$'
has '^key all v none$'
has '^color ok 200 blue bold underline$'
has '^columns models size name$'
has "^store \"$T/a store\"$"
err_has ':1: "store DIR" is wanted'
err_has ':5: no screen "moddels"; did you mean "Models"'
err_has ':6: no action "verfy"; did you mean "verify"'
err_has ':7: no key "Entre"'
err_has ':8: no role "haed"; did you mean "head"'
err_has ':9: no color or attribute "mauve"'
err_has ':10: no color or attribute "shiny"'
err_has ':12: no column "nmae"; did you mean "name"'
err_has ':13: "chat" has no columns to choose'
[ "$(wc -l <"$T/err")" -eq 9 ] || fail "$(cat "$T/err")"
cp "$T/out" "$CONFIG"
cp "$T/out" "$T/first"
tb 0 --print-config
sort -u "$T/first" >"$T/a"
sort -u "$T/out" | cmp - "$T/a" || fail "what is printed does not set what was"

# What is no configuration at all: some lines are told, and commands go on.
head -c 2000000 /dev/zero >"$CONFIG"
tb 1 ls
err_has "^tbtui: $CONFIG"
[ "$(grep -c "$CONFIG.*$CONFIG" "$T/err")" -eq 0 ] || fail "its name twice"
yes 'x y z' | head -n 100000 >"$CONFIG"
tb 1 --print-config
[ "$(grep -c 'no setting "x"' "$T/err")" -eq 20 ] || fail "told: $(wc -l <"$T/err") lines"
err_has 'config: more lines are wrong$'
seq -f "store /nowhere%.0f" 40000 >"$CONFIG"
expect 0 timeout 30 "$TBTUI" stores
err_has ':1001: this store and those below are left out: 1000 are enough$'
[ "$(grep -c '^/nowhere' "$T/out")" -eq 1000 ] || fail "$(wc -l <"$T/out") stores"
XDG_CONFIG_HOME="$(printf '%s/\033]0;title\007' "$T")"
export XDG_CONFIG_HOME
mkdir -p "$XDG_CONFIG_HOME/tbtui"
printf 'x\033[31m \007\n' >"$XDG_CONFIG_HOME/tbtui/config"
tb 1 --print-config
LC_ALL=C grep -q "$(printf '[\033\007]')" "$T/err" && fail "control characters in a message"
exit 0
