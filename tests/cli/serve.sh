# serve: what other programs get, and what they may not.
. "${srcdir:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip "no python3"
M=$srcdir/data/demo

# begin OPTION...: a server at any free port; its URL's port is $port, its process $server.
begin() {
	: >"$T/log"	# the last server's port must not be taken for this one's
	"$TBTUI" serve "$M" --port 0 --json "$@" >"$T/log" 2>"$T/complaint" &
	server=$!
	for i in $(seq 100); do
		port=$(sed -n 's/.*"url":"http:[^"]*:\([0-9]*\)\/v1".*/\1/p' "$T/log")
		[ -n "$port" ] && return
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	cat "$T/complaint" >&2
	fail "no server"
}

# It ends by SIGINT or SIGTERM, and says nothing wrong.
finish() {
	kill -INT "$server"
	wait "$server" || fail "exit status $? of the server"
	[ ! -s "$T/complaint" ] || { cat "$T/complaint" >&2; fail "the server complained"; }
}

# open_files: of the server, when nothing is asked of it.
open_files() {
	sleep 0.5
	find "/proc/$server/fd" -type l 2>/dev/null | wc -l
}

begin
before=$(open_files)
python3 "$srcdir/tests/cli/serve.py" "$port" || fail "serve.py"
after=$(open_files)
[ "$after" -le $((before + 2)) ] || fail "$after files are open, before it were $before"
if command -v curl >/dev/null; then
	curl -sSN "http://127.0.0.1:$port/v1/chat/completions" -H 'Content-Type: application/json' \
		-d '{"stream":true,"messages":[{"role":"user","content":"How do I quit?"}],"max_tokens":8}' \
		>"$T/out" || fail "curl"
	has '^data: \[DONE\]$'
fi
finish
grep -q '"path":"/v1/chat/completions","status":200,.*"end":"stop",.*"tokens":[1-9]' "$T/log" || fail "no log"
grep -q '"status":0,.*"end":"gone"' "$T/log" || fail "no log of who went away"
grep -q 'quit' "$T/log" && fail "what was said is in the log"

# A key, from a file that nobody else can read.
printf 'sk-0123456789\n' >"$T/key"
chmod 644 "$T/key"
expect 2 "$TBTUI" serve "$M" --port 0 --key-file "$T/key"
err_has 'others may read it; chmod 600'
chmod 600 "$T/key"
begin --key-file "$T/key"
python3 "$srcdir/tests/cli/serve.py" "$port" "$T/key" || fail "serve.py with a key"
grep -q 'sk-0123' "$T/log" && fail "the key is in the log"

# Two do not listen at one port.  Where others are let in a key is needed.
expect 2 "$TBTUI" serve "$M" --port "$port"
err_has 'is taken by another program'
finish
expect 2 "$TBTUI" serve "$M" --port 0 --listen 0.0.0.0
err_has 'a key is needed'
expect 2 "$TBTUI" serve "$M" --port 0 --listen example.com
err_has 'key is needed|no address in numbers'
printf 'two words\n' >"$T/key"
expect 2 "$TBTUI" serve "$M" --port 0 --key-file "$T/key"
err_has 'without blanks'
expect 2 "$TBTUI" serve "$M" --slots 9
err_has 'slots: a number from 1 to 8'
expect 2 "$TBTUI" serve "$T/no-model"

# One place and no queue: the next one is told to come later.  A signal ends what is under way.
begin --slots 1 --queue 0
python3 - "$port" <<'PY' || fail "a queue that is full"
import json, socket, sys
from http.client import HTTPConnection
port = int(sys.argv[1])
body = {"messages": [{"role": "user", "content": "Tell me"}], "max_tokens": 100000, "temperature": 1.2,
        "seed": 3, "stream": True, "ignore_eos": True}
a = HTTPConnection("127.0.0.1", port, timeout=60)
a.request("POST", "/v1/chat/completions", json.dumps(dict(body, logprobs=True, top_logprobs=10)))
first = a.getresponse()
for _ in range(20):
    b = HTTPConnection("127.0.0.1", port, timeout=60)
    b.request("POST", "/v1/chat/completions", json.dumps(body))
    r = b.getresponse()
    if r.status == 503:
        assert int(r.getheader("Retry-After")) >= 1 and json.loads(r.read())["error"]["code"] == "queue_full"
        break
    b.close()
else:
    raise SystemExit("never full")
PY
finish
