#!/bin/sh
# Who asks a registry, and how it is asked: names and passwords from where they are kept, Ollama's
# key, certificates, mirrors, and what the configuration says of all that.
. "${srcdir:-.}/tests/cli/lib.sh"
. "${srcdir:-.}/tests/net/lib.sh"
net_needs docker-registry ssh-keygen
registry_start A
registry_start B tls auth
"$TBTUI" demo --random "$T/demo" >/dev/null || fail "no demo"
S=$T/store
mkdir -p "$S/blobs" "$S/manifests" "$XDG_CONFIG_HOME/tbtui" "$HOME/.docker"
KEYS=$XDG_CONFIG_HOME/tbtui/keys CONFIG=$XDG_CONFIG_HOME/tbtui/config
tb() { "$TBTUI" --db "$T/index.db" -s "$S" "$@"; }
from_demo() { "$TBTUI" --db "$T/demo.db" -s "$T/demo" "$@"; }
basic=$(printf '%s' "$NET_USER:$NET_PASSWORD" | base64)

# ---- its certificate ----
expect 2 from_demo push demo:int4 "$B/ns/demo"
err_has 'its certificate is not to be trusted, nothing was sent'
err_has "write \"registry $B ca /FILE\" into the configuration"
expect 2 from_demo push demo:int4 "$B/ns/demo" --tls-skip-verify --quiet
err_has 'WARNING: --tls-skip-verify: NOBODY CHECKS'
echo "registry $B skip-verify" >"$CONFIG"
expect 2 from_demo push demo:int4 "$B/ns/demo" --quiet
err_has 'WARNING: skip-verify in the configuration: NOBODY CHECKS'
err_has "$B: it wants to know who asks; write a line \"$B USER PASSWORD\" into $KEYS"
echo "registry $B ca $NET_CA" >"$CONFIG"

# ---- a line of keys ----
echo "$B $NET_USER wrong-$NET_PASSWORD" >"$KEYS"
chmod 644 "$KEYS"
expect 2 from_demo push demo:int4 "$B/ns/demo"
err_has 'others may read it; chmod 600'
chmod 600 "$KEYS"
expect 2 from_demo push demo:int4 "$B/ns/demo"
err_has "$B: it does not take the name and password from $KEYS"
err_has_not() { ! grep -q "$1" "$T/err" || fail "$1 on stderr"; }
err_has_not "$NET_PASSWORD"
echo "$B $NET_USER $NET_PASSWORD" >"$KEYS"
expect 0 from_demo push demo:int4 "$B/ns/demo"
expect 0 tb pull "$B/ns/demo" a
rm "$KEYS"

# ---- Docker's configuration, and a program that it names ----
rm -r "$S/blobs"/*
echo "{\"auths\":{\"$B\":{\"auth\":\"$basic\"}}}" >"$HOME/.docker/config.json"
chmod 600 "$HOME/.docker/config.json"
expect 0 tb pull "$B/ns/demo" b
mkdir "$T/bin"
cat >"$T/bin/docker-credential-test" <<END
#!/bin/sh
read server
echo "\$1 \$server" >>"$T/asked"
echo '{"Username":"$NET_USER","Secret":"$NET_PASSWORD"}'
END
chmod +x "$T/bin/docker-credential-test"
PATH=$T/bin:$PATH
echo "{\"credHelpers\":{\"$B\":\"test\"}}" >"$HOME/.docker/config.json"
rm -r "$S/blobs"/*
expect 0 tb pull "$B/ns/demo" c
[ "$(cat "$T/asked")" = "get $B" ] || fail "asked: $(cat "$T/asked")"
chmod 666 "$HOME/.docker/config.json"
expect 2 tb pull "$B/ns/demo" d
err_has 'it names a program to run; chmod go-w'
chmod 600 "$HOME/.docker/config.json"

# ---- mirrors come first, and only what is read comes from them ----
registry_put "$A_URL" "$T/demo" "$T/demo/manifests/registry.ollama.ai/library/demo/int4" ns/demo latest
echo "registry $B ca $NET_CA mirror http://localhost:1 mirror $A_URL" >"$CONFIG"
rm -r "$S/blobs"/*
before=$(wc -l <"$B_LOG")
expect 0 tb pull "$B/ns/demo" e
[ "$(wc -l <"$B_LOG")" = "$before" ] || fail "the registry was asked, and its mirror has it all"
grep -q "$basic" "$A_LOG" && fail "the mirror was shown the password"

# ---- plain HTTP as the configuration says ----
echo "registry $A plain" >"$CONFIG"
expect 0 tb pull "$A/ns/demo" f
expect 2 tb pull "https://$A/ns/demo" g
err_has 'no TLS there'

# ---- Ollama's key ----
mkdir -p "$HOME/.ollama"
ssh-keygen -q -t ed25519 -N '' -f "$T/id" || fail "no key"
cp "$T/id.pub" "$T/known"
mkdir -p "$T/demo/manifests/registry.ollama.ai/private"
cp -r "$T/demo/manifests/registry.ollama.ai/library/demo" "$T/demo/manifests/registry.ollama.ai/private/demo"
server_start O ollama_registry.py "$T/demo" --keys "$T/known"
expect 2 tb pull "http://$O/private/demo:int4" h
err_has 'ssh-keygen -t ed25519'
cp "$T/id" "$HOME/.ollama/id_ed25519"
chmod 600 "$HOME/.ollama/id_ed25519"
expect 0 tb pull "http://$O/private/demo:int4" h
ssh-keygen -q -t ed25519 -N '' -f "$T/other" || fail "no key"
cp "$T/other" "$HOME/.ollama/id_ed25519"
expect 2 tb pull "http://$O/private/demo:int8" i
err_has "Ollama's key is not enough"
exit 0
