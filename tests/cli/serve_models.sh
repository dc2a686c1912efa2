# serve: more models than there is room for are loaded as they are asked for, and go again; a draft
# guesses for one.
. "${srcdir:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip "no python3"

expect 0 "$TBTUI" demo --random "$T/demo"
cp -r "$srcdir/data/demo" "$T/last"

# begin OPTION...: a server at any free port; its URL's port is $port, its process $server.
begin() {
	: >"$T/log"
	"$TBTUI" --store "$T/demo" serve --port 0 --json "$@" >"$T/log" 2>"$T/complaint" &
	server=$!
	for i in $(seq 100); do
		port=$(sed -n 's/.*"url":"http:[^"]*:\([0-9]*\)\/v1".*/\1/p' "$T/log")
		[ -n "$port" ] && return
		kill -0 "$server" 2>/dev/null || break
		sleep 0.05
	done
	cat "$T/complaint" >&2
	fail "no server"
}
finish() {
	kill -INT "$server"
	wait "$server" || fail "exit status $? of the server"
	[ ! -s "$T/complaint" ] || { cat "$T/complaint" >&2; fail "the server complained"; }
}

begin demo:bf16 demo:int4 "$T/last" --memory 1kB --ctx 256 --slots 2
head -1 "$T/log" >"$T/out"
has '"model":"demo:bf16","loaded":true,.*"model":"demo:int4","loaded":false,"bytes":[0-9]+\}'
cat >"$T/asks.py" <<'EOF'
import json, os, random, sys, threading, time
from http.client import HTTPConnection
port, last = int(sys.argv[1]), sys.argv[2]

def send(method, path, body=None):
    c = HTTPConnection("127.0.0.1", port, timeout=60)
    c.request(method, path, json.dumps(body) if body else None)
    r = c.getresponse()
    return r.status, json.loads(r.read())

def loaded():
    return [m["name"] for m in send("GET", "/api/ps")[1]["models"]]

def say(model, status=200, **more):
    got, a = send("POST", "/api/chat", dict(more, model=model, stream=False, options={"temperature": 0,
                  "num_predict": 12}, messages=[{"role": "user", "content": "hello"}]))
    assert got == status, (model, got, a)
    return a["message"]["content"] if got == 200 else a["error"]

def empty():
    end = time.monotonic() + 20
    while loaded():
        assert time.monotonic() < end, loaded()
        time.sleep(0.02)

names = [m["id"] for m in send("GET", "/v1/models")[1]["data"]]
assert names[:2] == ["demo:bf16", "demo:int4"], names
assert loaded() == names[:1], loaded()
said = {}
for n in names:
    said[n] = say(n)
    assert loaded() == [n], (n, loaded())
assert len(set(said.values())) == 3, said
assert send("POST", "/api/chat", {"model": "none", "messages": [{"role": "user", "content": "x"}]})[0] == 404

# all at once, each gets its model's answer
wrong = []
def many(seed):
    r = random.Random(seed)
    for _ in range(4):
        n = r.choice(names)
        if say(n) != said[n]:
            wrong.append(n)
threads = [threading.Thread(target=many, args=(i,)) for i in range(6)]
[t.start() for t in threads]
[t.join() for t in threads]
assert not wrong, wrong
assert len(loaded()) == 1, loaded()

# kept as long as it is said, and then there again
for keep in (0, "20ms", "-1h", None):
    assert say(names[1], keep_alive=keep) == said[names[1]]
    if keep in (0, "20ms"):
        empty()
assert loaded() == names[1:2]
assert "keep_alive" in say(names[1], 400, keep_alive="5x")

# what cannot be loaded any more is told, and the others are served
os.rename(last, last + "-away")
assert "last" in say(names[2], 500), "no reason"
assert say(names[0]) == said[names[0]]
os.rename(last + "-away", last)
assert say(names[2]) == said[names[2]]
print(said[names[0]])
EOF
python3 "$T/asks.py" "$port" "$T/last" >"$T/said" || fail "asks.py: $(cat "$T/complaint")"
finish

# unasked for so long, it goes; the text with a draft is that without
begin demo:bf16 --keep-alive 0.05 --draft demo:int4 --ctx 256 --slots 2
python3 - "$port" "$(cat "$T/said")" <<'EOF' || fail "a draft"
import json, sys, time
from http.client import HTTPConnection
def send(method, path, body=None):
    c = HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
    c.request(method, path, json.dumps(body) if body else None)
    return json.loads(c.getresponse().read())
for _ in range(2):
    a = send("POST", "/api/chat", {"stream": False, "options": {"temperature": 0, "num_predict": 12},
             "messages": [{"role": "user", "content": "hello"}]})
    assert a["message"]["content"].strip() == sys.argv[2].strip(), a
    end = time.monotonic() + 20
    while send("GET", "/api/ps")["models"]:
        assert time.monotonic() < end
        time.sleep(0.02)
EOF
finish
expect 2 "$TBTUI" --store "$T/demo" serve --port 0 demo:bf16 --draft "$T/last"
err_has 'cannot guess for demo:bf16'
expect 2 "$TBTUI" --store "$T/demo" serve --port 0 demo:bf16 --memory much
err_has 'a size like'
exit 0
