#!/bin/sh
# Models behind a URL: what is asked, what is shown, who gets a key, and servers that are
# broken or mean.
. "${srcdir:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip "no python3"
unset TBTUI_API_KEY OPENAI_API_KEY http_proxy https_proxy all_proxy HTTPS_PROXY ALL_PROXY
unset SSL_CERT_FILE CURL_CA_BUNDLE

# a certificate for "localhost" alone, of an authority that nobody knows
certificate() {
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-authority \
		-keyout "$T/ca.key" -out "$T/ca.pem" &&
	openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout "$T/server.key" \
		-out "$T/server.csr" &&
	echo "subjectAltName=DNS:localhost" >"$T/ext" &&
	openssl x509 -req -in "$T/server.csr" -CA "$T/ca.pem" -CAkey "$T/ca.key" -CAcreateserial \
		-days 2 -extfile "$T/ext" -out "$T/server.crt" &&
	cat "$T/server.key" "$T/server.crt" >"$T/server.pem"
}
if command -v openssl >/dev/null; then
	certificate >"$T/openssl" 2>&1 || { cat "$T/openssl" >&2; fail "no certificate"; }
fi

: >"$T/log"
python3 "${srcdir:-.}/tests/cli/remote_server.py" "$T" 2>"$T/server.err" &
trap 'rm -rf "$T"; wait' EXIT
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	[ ! -s "$T/port" ] || break
	sleep 0.2
done
[ -s "$T/port" ] || { cat "$T/server.err" >&2; fail "no server"; }
PORT=$(cat "$T/port")
OTHER=$(cat "$T/other")
U=http://127.0.0.1:$PORT

# chat STATUS MODEL [OPTION...]: says hello; what was sent is the last line of $T/log
chat() {
	want=$1
	model=$2
	shift 2
	expect "$want" "$TBTUI" chat "$U/v1#$model" -p hello "$@"
}
# sent PATTERN: the last request has it
sent() {
	tail -1 "$T/log" | grep -Eq -- "$1" || fail "not sent: $1: $(tail -1 "$T/log")"
}

# which models there are
expect 2 "$TBTUI" chat "$U" -p hello
err_has 'say which model, with #MODEL behind the address; models there: plain, think, org/name:8b$'
expect 0 "$TBTUI" chat "$U/one/v1" -p hello
sent '"model": "only"'
expect 0 "$TBTUI" chat "$U#plian" -p hello
err_has 'does not list a model "plian"; did you mean "plain"\?'
chat 0 org/name:8b
sent '"model": "org/name:8b"'
[ -s "$T/err" ] && fail "there is a note: $(cat "$T/err")"
expect 2 "$TBTUI" chat "$U/none/v1" -p hello
err_has 'answers 404: Not Found; no such model, or the address is another'
expect 2 "$TBTUI" chat "$U/web/v1" -p hello
err_has 'mostly ends in /v1'
expect 2 "$TBTUI" chat "http://127.0.0.1:1/v1#x" -p hello
err_has '127\.0\.0\.1:1: nobody answers there; does the server run\?'
expect 2 "$TBTUI" chat "http://me:secret@127.0.0.1/v1#x" -p hello
grep -q secret "$T/err" && fail "a password in a message"

# a conversation; only what was chosen is sent
printf 'one\ntwo\n' | "$TBTUI" chat "$U/v1#plain" --system "Be kind." >"$T/out" 2>"$T/err" || fail "two turns"
[ "$(grep -c '^Once upon a time\.$' "$T/out")" -eq 2 ] || fail "not two answers: $(cat "$T/out")"
sent '"messages": \[\{"role": "system", "content": "Be kind\."\}, \{"role": "user", "content": "one"\}, \{"role": "assistant", "content": "Once upon a time\."\}, \{"role": "user", "content": "two"\}\]'
tail -1 "$T/log" | grep -Eq 'temperature|top_|min_p|repeat|seed|max_tokens' && fail "sent what nobody chose"
sent '"stream": true'
chat 0 plain --temp 0.7 --top-p 0.5 --top-k 7 --min-p 0.1 --seed 42 -n 33 --repeat-penalty 1.2
sent '"temperature": 0\.7, "top_p": 0\.5, "min_p": 0\.1, "repeat_penalty": 1\.2, "top_k": 7, "seed": 42, "max_tokens": 33'
expect 2 "$TBTUI" chat "$U/v1#plain" -p hello --ctx 100
err_has '^tbtui: --ctx: the model runs elsewhere'
chat 0 plain --json
has '"text":"Once upon a time\.","tokens":5,.*"stop":"eos","prompt_tokens":5,"reused_tokens":4'

# kept and gone on with; what nobody chose is not kept as chosen
expect 0 "$TBTUI" chat "$U/v1#plain" -p first --temp 0.5 --session new
expect 0 "$TBTUI" chat --session last -p second
sent '"role": "user", "content": "first"\}, \{"role": "assistant", "content": "Once upon a time\."\}, \{"role": "user", "content": "second"\}\]'
sent '"temperature": 0\.5[,}]'
tail -1 "$T/log" | grep -Eq 'top_|min_p|repeat|seed' && fail "sent what nobody chose: $(tail -1 "$T/log")"
expect 0 "$TBTUI" sessions export last --as json
has '"temperature": "0\.5"'
has_not 'nan|4294967295|18446744073709551615'
chat 0 tools --session new
expect 0 "$TBTUI" sessions export last --as json
tr -d ' \n' <"$T/out" | grep -Fq '{"id":"c1","type":"function","function":{"name":"weather","arguments":{"city":"Rome"}}}' ||
	fail "the call of a tool is not kept: $(cat "$T/out")"
chat 0 think --session new
expect 0 "$TBTUI" sessions export last --as json
has '"reasoning_content": "Hm, so\."'

# a text that is continued
expect 0 "$TBTUI" generate "$U/v1#plain" -p "Long ago" -n 9
has '^Once upon a time\.$'
sent '"path": "/v1/completions".*"model": "plain", "prompt": "Long ago", .*"max_tokens": 9'
expect 0 "$TBTUI" generate "$U/v1#plain" -p "Long ago" --stop END --stop ' . '
sent '"prompt": "Long ago", .*"stop": \["END", " \. "\]'
chat 0 plain --stop END
sent '"messages": .*"stop": \["END"\]'
expect 2 "$TBTUI" generate "$U/v1#plain" -p "Long ago" --raw
err_has 'are for models here'

# in whichever form it comes
chat 0 crlf
has '^piece by piece$'
chat 0 document
has '^At once\.$'
chat 0 think
has '^Yes\.$'
has_not 'Hm'
# a terminal shows what it thinks, before the answer and weaker, unless that is not wanted
watched() {
	python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) != 0)' \
		"$TBTUI" chat "$U/v1#think" -p hello "$@" >"$T/tty" 2>&1 </dev/null || fail "$(cat "$T/tty")"
	tr -d '\r' <"$T/tty" >"$T/out"
}
watched
has "^$(printf '\033')\[2mThinking\.\.\.\$"
has '^Hm, so\.$'
[ "$(grep -A4 '^Hm' "$T/out" | tr '\n' '|')" = "Hm, so.|...done thinking.$(printf '\033')[m||Yes.|" ] ||
	fail "$(cat "$T/out")"
watched --color never
has '^Thinking\.\.\.$'
watched --hide-thinking
has_not 'Hm|hinking'
chat 0 hostile
printf 'a\357\277\275\357\277\275b\357\277\275[31mred\357\277\275\357\277\275nul \357\277\275 half \360\237\230\200 whole\n' >"$T/want"
cmp "$T/want" "$T/out" || fail "hostile text: $(od -c "$T/out")"

# tools go there, their calls come back, and so do results; how much is thought
echo '[{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]' >"$T/tools.json"
printf 'hello\n/result sunny\n' | "$TBTUI" chat "$U/v1#tools" --tools "$T/tools.json" --think low \
	>"$T/out" 2>"$T/err" || fail "tools: $(cat "$T/err")"
sent '"tools": \[\{"type": "function", "function": \{"name": "weather"'
sent '"tool_calls": \[\{"id": "c1", "type": "function", "function": \{"name": "weather", "arguments": "\{\\"city\\":\\"Rome\\"\}"\}\}\]'
sent '"role": "tool", "content": "sunny", "tool_call_id": "c1"'
sent '"reasoning_effort": "low"'

# what answers have to look like
echo '{"type": "object", "properties": {"a": {"type": "integer"}}}' >"$T/schema.json"
chat 0 plain --schema "$T/schema.json"
sent '"response_format": \{"type": "json_schema", "json_schema": \{"name": "answer", "schema": \{"type": "object", "properties": \{"a": \{"type": "integer"\}\}\}, "strict": true'
chat 0 plain --format json
sent '"response_format": \{"type": "json_object"\}'
expect 0 "$TBTUI" generate "$U/v1#plain" -p "Long ago" --format json
sent '"prompt": "Long ago".*"response_format": \{"type": "json_object"\}'
echo 'root ::= "yes" | "no"' >"$T/g.gbnf"
chat 2 plain --grammar "$T/g.gbnf"
err_has 'a grammar of GBNF is for models here'
printf 'hi\n' | "$TBTUI" chat "$U/v1#plain" --think maybe 2>"$T/err" && fail "--think maybe"

# no room for all: the oldest turns go, and that is said
printf 'one\ntwo\nthree\nfour\n' | "$TBTUI" chat "$U/v1#small" --system Be. >"$T/out" 2>"$T/err" ||
	fail "a long conversation: $(cat "$T/err")"
[ "$(grep -c '^Once upon a time\.$' "$T/out")" -eq 4 ] || fail "not four answers: $(cat "$T/out")"
sent '"messages": \[\{"role": "system", "content": "Be\."\}, \{"role": "user", "content": "four"\}\]'
err_has 'dropped 1 turn from the beginning'

# what goes wrong says who said what, and what to do
chat 2 refuses
err_has 'answers 400: top_k is not .\[31mknown$'
chat 2 busy
err_has 'answers 429: slow down; too many requests'
chat 2 breaks
err_has 'answers 500: out of memory; the server failed'
has '^So far'
chat 2 cut
err_has 'broke off'
has '^Half of'
chat 2 ends
err_has 'the connection broke off before the answer'
chat 2 web
err_has 'no answer of a model; is the address right'
chat 2 bomb
err_has 'answers compressed \(gzip\), which nobody asked for'
chat 2 wide
err_has 'over 8388608 bytes'
expect 2 "$TBTUI" chat "$U/endless/v1#x" -p hello
err_has 'headers of more than'

# stopped: the server sees it at once, what was said stays
"$TBTUI" chat "$U/v1#hangs" -p hello >"$T/out" 2>"$T/err" &
pid=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	grep -q 'I think' "$T/out" && break
	sleep 0.1
done
kill -INT $pid
wait $pid
[ $? -eq 1 ] || fail "stopped, but the status is not 1: $(cat "$T/err")"
has 'I think'
for i in 1 2 3 4 5 6 7 8 9 10; do
	grep -q '"gone": "hangs"' "$T/log" && break
	sleep 0.1
done
grep -q '"gone": "hangs"' "$T/log" || fail "the server did not see the stop"

# keys: in the environment, in a private file, for one server
K=$U/key/v1#plain
expect 2 "$TBTUI" chat "$K" -p hello
err_has "answers 401: wrong key: ; it wants a key: .TBTUI_API_KEY, or a line \"127\.0\.0\.1:$PORT KEY\" in .*/tbtui/keys"
TBTUI_API_KEY=sk-wrong-key expect 2 "$TBTUI" chat "$K" -p hello
err_has 'answers 401: wrong key: \*+; it does not like the key'
TBTUI_API_KEY=sk-right-key expect 0 "$TBTUI" chat "$K" -p hello
TBTUI_API_KEY="127.0.0.1:$PORT sk-right-key" expect 0 "$TBTUI" chat "$K" -p hello
TBTUI_API_KEY="127.0.0.1:$OTHER sk-right-key" expect 2 "$TBTUI" chat "$K" -p hello
mkdir -p "$XDG_CONFIG_HOME/tbtui"
echo "127.0.0.1:$PORT sk-right-key" >"$XDG_CONFIG_HOME/tbtui/keys"
chmod 644 "$XDG_CONFIG_HOME/tbtui/keys"
expect 2 "$TBTUI" chat "$K" -p hello
err_has 'others may read it; chmod 600'
chmod 600 "$XDG_CONFIG_HOME/tbtui/keys"
expect 0 "$TBTUI" chat "$K" -p hello
has '^Once upon a time\.$'
chat 2 scolds		# without end: its beginning is enough
err_has 'answers 500: no no no'
for i in 1 2 3 4 5 6 7 8 9 10; do
	grep -q '"gone": "scolds"' "$T/log" && break
	sleep 0.2
done
grep -q '"gone": "scolds"' "$T/log" || fail "an error without end was read"
chat 2 fails
err_has 'answers 500: your key \*+ is bad for me'
grep -rq sk-right-key "$XDG_DATA_HOME" 2>/dev/null && fail "a key was written down"

# a server with a name
echo "remote work $U/v1" >"$XDG_CONFIG_HOME/tbtui/config"
expect 0 "$TBTUI" chat work:org/name:8b -p hello
sent '"model": "org/name:8b"'
expect 0 "$TBTUI" generate work:plain -p hello
sent '"model": "plain"'
expect 2 "$TBTUI" chat work -p hello
err_has 'models there: plain, think'
"$TBTUI" doctor >"$T/out" 2>"$T/err"
has "^remote    work: $U/v1, key: yes$"
grep -q sk- "$T/out" && fail "doctor shows a key"
"$TBTUI" --json doctor >"$T/out" 2>"$T/err"
has '"remotes":\[\{"name":"work","url":"http[^"]*","key":true\}\]'
# the conversation goes on with another; what was set goes along
printf 'first\n/set temperature 0.25\n/model work:plain\nsecond\n/show parameters\n' |
	"$TBTUI" chat "$U/v1#think" >"$T/out" 2>"$T/err" || fail "/model: $(cat "$T/err")"
grep -hEq "^.?plain at 127.0.0.1:$PORT answers from now on" "$T/out" "$T/err" || fail "no other answers: $(cat "$T/out" "$T/err")"
tail -1 "$T/log" | grep -Eq '"model": "plain", "messages": \[\{"role": "user", "content": "first"\}, \{"role": "assistant", "content": "Yes\."\}' ||
	fail "the conversation does not go on: $(tail -1 "$T/log")"
sent '"temperature": 0\.25'
has "^top_p +the server.s$"
expect 0 "$TBTUI" "$U/v1#plain" </dev/null

printf 'remote a:b %s\nremote c ftp://x\nremote d\n' "$U" >"$XDG_CONFIG_HOME/tbtui/config"
expect 1 "$TBTUI" --print-config
err_has ':1: "a:b": the name of a server has no'
err_has ':2: ftp://x: not http'
err_has ':3: "remote NAME URL" is wanted'
rm "$XDG_CONFIG_HOME/tbtui/config"

# redirects: the key stays, what is said stays
: >"$T/log"
chat 0 near
has '^Once upon a time\.$'
sent '"path": "/other/v1/chat/completions", "key": "Bearer sk-right-key"'
chat 2 moved
err_has "it leads to http://127\.0\.0\.1:$PORT/other/v1/chat/completions; use that address"
chat 2 round
err_has 'it leads elsewhere again and again'
chat 2 far
err_has "it leads to http://127\.0\.0\.1:$OTHER; nothing was sent there"
grep -q '"server": "other"' "$T/log" && fail "the other server was asked: $(cat "$T/log")"
expect 0 "$TBTUI" chat "$U/away/v1#plain" -p hello
grep '"server": "other"' "$T/log" >"$T/there" || fail "a list that leads elsewhere is not followed"
grep -q 'sk-' "$T/there" && fail "the other server got the key"

# TLS: an authority that is not known, a name that is not the certificate's
if [ -s "$T/tls" ]; then
	S=$(cat "$T/tls")
	: >"$T/log"
	echo "localhost:$S sk-tls-key" >>"$XDG_CONFIG_HOME/tbtui/keys"
	expect 2 "$TBTUI" chat "https://localhost:$S/v1#plain" -p hello
	err_has 'its certificate is not to be trusted, nothing was sent'
	SSL_CERT_FILE=$T/ca.pem expect 2 "$TBTUI" chat "https://127.0.0.1:$S/v1#plain" -p hello
	err_has 'its certificate is not to be trusted, nothing was sent'
	[ -s "$T/log" ] && fail "it was asked: $(cat "$T/log")"
	SSL_CERT_FILE=$T/ca.pem expect 0 "$TBTUI" chat "https://localhost:$S/v1#plain" -p hello
	has '^Once upon a time\.$'
	sent '"key": "Bearer sk-tls-key"'
	SSL_CERT_FILE=$T/ca.pem expect 2 "$TBTUI" chat "https://localhost:$S/v1#far" -p hello
	err_has 'it leads from https to http://127\.0\.0\.1, which is refused'
	expect 2 "$TBTUI" chat "https://localhost:$PORT/v1#plain" -p hello
	err_has 'no TLS there; is it http:// instead\?'
fi
rm -f "$T/port"
exit 0
