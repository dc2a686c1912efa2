# The messages of a Modelfile: each conversation begins with them, in the panel's
# commands, in chat and for programs that ask a server.
. "${srcdir:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip "no python3"
expect 0 "$TBTUI" demo --random "$T/demo"
tb() { "$TBTUI" --db "$T/x.db" -s "$T/demo" "$@"; }
cat >"$T/Modelfile" <<'END'
FROM demo:bf16
SYSTEM Be brief.
MESSAGE user hello
MESSAGE assistant hi there
PARAMETER temperature 0
END
expect 0 tb create mine -f "$T/Modelfile"
expect 0 tb show mine --modelfile
has '^MESSAGE assistant hi there$'
echo '[{"role":"system","content":"Be brief."},{"role":"user","content":"hello"},
	{"role":"assistant","content":"hi there"},{"role":"user","content":"and now?"}]' >"$T/all.json"
expect 0 tb template mine "$T/all.json"
cp "$T/out" "$T/all"

# what the model reads
printf 'and now?\n/template\n/bye\n' >"$T/typed"
tb chat mine -n 1 <"$T/typed" >"$T/out" 2>"$T/err" || fail "chat: $(cat "$T/err")"
python3 - "$T/out" "$T/all" <<'END' || fail "a conversation does not begin with the model's messages"
import sys
said, whole = (open(p).read() for p in sys.argv[1:])
sys.exit(whole.rstrip("\n") not in said)
END

# the same answer as to all of it, from a server
"$TBTUI" --db "$T/x.db" -s "$T/demo" serve mine demo:bf16 --port 0 --json >"$T/log" 2>"$T/complaint" &
server=$!
trap 'kill -9 $server 2>/dev/null; rm -rf "$T"' EXIT
for i in $(seq 100); do
	port=$(sed -n 's/.*"url":"http:[^"]*:\([0-9]*\)\/v1".*/\1/p' "$T/log")
	[ -n "$port" ] && break
	sleep 0.1
done
[ -n "$port" ] || fail "no server: $(cat "$T/complaint")"
python3 - "$port" "$T/all.json" <<'END' || fail "a server's conversation does not"
import json, sys, urllib.request
def ask(model, messages):
    body = json.dumps({"model": model, "messages": messages, "max_tokens": 8, "temperature": 0})
    url = f"http://127.0.0.1:{sys.argv[1]}/v1/chat/completions"
    r = urllib.request.Request(url, body.encode(), {"Content-Type": "application/json"})
    a = json.load(urllib.request.urlopen(r))
    return a["choices"][0]["message"]["content"], a["usage"]["prompt_tokens"]
whole = json.load(open(sys.argv[2]))
last = whole[-1:]
assert ask("mine", last) == ask("demo:bf16", whole)
assert ask("mine", last) != ask("demo:bf16", last)
other = [{"role": "system", "content": "Shout."}]       # who says another wants that
assert ask("mine", other + last) == ask("demo:bf16", other + whole[1:])
END
kill -INT $server
wait $server || fail "exit status $? of the server"

# what is no list of messages is refused by name
echo '[{"role":"narrator","content":"x"}]' >"$T/odd"
sum=$(sha256sum "$T/odd" | cut -d' ' -f1)
cp "$T/odd" "$T/demo/blobs/sha256-$sum"
manifest=$T/demo/manifests/registry.ollama.ai/library/mine/latest
python3 - "$manifest" "$sum" "$(wc -c <"$T/odd")" <<'END'
import json, sys
m = json.load(open(sys.argv[1]))
for l in m["layers"]:
    if l["mediaType"].endswith(".messages"):
        l["digest"], l["size"] = "sha256:" + sys.argv[2], int(sys.argv[3])
json.dump(m, open(sys.argv[1], "w"))
END
expect 2 tb chat mine -p x -n 1
err_has 'mine.*messages: number 1 has no role that is known'
exit 0
