"""Asks a server that is running, as other programs would: serve.py PORT [KEY-FILE]."""
import json
import socket
import sys
import threading
import time
from http.client import HTTPConnection

PORT = int(sys.argv[1])
CHAT = "/v1/chat/completions"


def send(method, path, body=None, headers=None, port=PORT):
    c = HTTPConnection("127.0.0.1", port, timeout=60)
    if body is not None and not isinstance(body, (str, bytes)):
        body = json.dumps(body)
    c.request(method, path, body, headers or {})
    return c.getresponse()


def ask(path, body, status=200):
    r = send("POST", path, body)
    text = r.read()
    assert r.status == status, (path, body, r.status, text)
    return json.loads(text)


def say(text, **more):
    return dict({"messages": [{"role": "user", "content": text}], "temperature": 0,
                 "max_tokens": 24}, **more)


def events(r):
    """What comes of a stream until [DONE]."""
    for line in r:
        line = line.strip()
        if line == b"data: [DONE]":
            return
        if line:
            assert line.startswith(b"data: "), line
            yield json.loads(line[6:])
    raise AssertionError("no [DONE]")


def stream(path, body):
    r = send("POST", path, dict(body, stream=True))
    assert r.status == 200 and r.getheader("Content-Type") == "text/event-stream", r.status
    text, last = "", None
    for e in events(r):
        assert "error" not in e, e
        for c in e["choices"]:
            text += c["delta"].get("content") or ""
            last = c["finish_reason"] or last
    return text, last


def idle():
    """Nothing is under way any more."""
    for _ in range(200):
        h = json.loads(send("GET", "/health").read())
        if h["speaking"] == 0 and h["waiting"] == 0:
            return
        time.sleep(0.05)
    raise AssertionError("the server still works for somebody")


def test_shapes():
    models = json.loads(send("GET", "/v1/models").read())
    name = models["data"][0]["id"]
    assert models["object"] == "list" and models["data"][0]["object"] == "model"
    assert json.loads(send("GET", "/v1/models/" + name).read())["id"] == name
    a = ask(CHAT, say("How do I quit?", model=name))
    assert a["object"] == "chat.completion" and a["model"] == name, a
    assert a["choices"][0]["message"]["role"] == "assistant"
    assert a["choices"][0]["message"]["content"] and a["choices"][0]["finish_reason"] in ("stop", "length")
    u = a["usage"]
    assert u["total_tokens"] == u["prompt_tokens"] + u["completion_tokens"] > 0, u
    assert u["completion_tokens"] <= 24
    text, last = stream(CHAT, say("How do I quit?"))
    assert text == a["choices"][0]["message"]["content"], (text, a)
    assert last == a["choices"][0]["finish_reason"]
    # Parts of content, a system's message, a conversation: all is one text for the model.
    b = ask(CHAT, say([{"type": "text", "text": "How do "}, {"type": "text", "text": "I quit?"}]))
    assert b["choices"][0]["message"]["content"] == text
    t = ask("/v1/completions", {"prompt": "tbtui is", "max_tokens": 8, "temperature": 0})
    assert t["object"] == "text_completion" and t["choices"][0]["text"], t
    assert t["choices"][0]["finish_reason"] == "length" and t["usage"]["completion_tokens"] == 8


def test_usage_option():
    r = send("POST", CHAT, say("Hello", stream=True, stream_options={"include_usage": True}))
    all_of = list(events(r))
    assert all_of[-1]["choices"] == [] and all_of[-1]["usage"]["completion_tokens"] > 0
    assert all(e["usage"] is None for e in all_of[:-1])
    assert all_of[0]["choices"][0]["delta"]["role"] == "assistant"


def test_sampling():
    hot = dict(temperature=1.5, max_tokens=40)
    a, b, c = (ask(CHAT, say("Tell me", **hot, seed=s))["choices"][0]["message"]["content"]
               for s in (7, 7, 8))
    assert a == b and a != c, (a, b, c)
    whole = ask("/v1/completions", {"prompt": "tbtui is", "max_tokens": 16, "temperature": 0})
    text = whole["choices"][0]["text"]
    stop = text[4:8]
    cut = ask("/v1/completions", {"prompt": "tbtui is", "max_tokens": 16, "temperature": 0, "stop": [stop]})
    assert cut["choices"][0]["text"] == text[:text.index(stop)] and cut["choices"][0]["finish_reason"] == "stop"


def test_logprobs():
    a = ask(CHAT, say("Hello", logprobs=True, top_logprobs=3))["choices"][0]
    for t in a["logprobs"]["content"]:
        assert len(t["top_logprobs"]) == 3 and t["logprob"] == t["top_logprobs"][0]["logprob"] <= 0, t
    text = "".join(t["token"] for t in a["logprobs"]["content"])
    assert a["message"]["content"].strip() in text, (a["message"], text)
    said, tokens = "", 0
    for e in events(send("POST", CHAT, say("Hello", logprobs=True, stream=True))):
        c = e["choices"][0]
        said += c["delta"].get("content") or ""
        if c["logprobs"]:
            tokens += len(c["logprobs"]["content"])
            assert c["logprobs"]["content"][0]["top_logprobs"] == []
    assert said == a["message"]["content"] and tokens == len(a["logprobs"]["content"])


SCHEMA = {"type": "object", "required": ["key", "times", "ok"],
          "properties": {"key": {"type": "string", "maxLength": 6}, "ok": {"type": "boolean"},
                         "times": {"type": "integer", "minimum": 0, "maximum": 99}}}


def check_schema(text):
    v = json.loads(text)
    assert sorted(v) == ["key", "ok", "times"] and len(v["key"]) <= 6 and 0 <= v["times"] <= 99, text
    assert isinstance(v["ok"], bool), text


def test_formats():
    """What must be JSON is, hot or cold, alone or among others, streamed or not."""
    def one(i):
        hot = dict(temperature=i % 2 * 1.5, seed=i, max_tokens=80)
        schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
        check_schema(ask(CHAT, say("Which key?", response_format=schema, **hot))["choices"][0]["message"]["content"])
        text, last = stream(CHAT, say("Which key?", response_format=schema, **hot))
        check_schema(text)
        assert last == "stop", last
        any_object = ask(CHAT, say("Which key?", response_format={"type": "json_object"}, **hot))
        assert isinstance(json.loads(any_object["choices"][0]["message"]["content"]), dict), any_object
        body = {"messages": [{"role": "user", "content": "Which key?"}], "stream": False, "format": SCHEMA}
        check_schema(ask("/api/chat", body)["message"]["content"])
        done.append(i)

    done = []
    threads = [threading.Thread(target=one, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(done) == 6, "a thread failed"
    wrong = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "king"}}}
    assert ask(CHAT, say("x", response_format=wrong), 400)["error"]["param"] == "response_format"


def test_penalties():
    plain, other = (ask("/v1/completions", {"prompt": "the the the the", "max_tokens": 120, "temperature": 0,
                                            "repeat_penalty": 1, "frequency_penalty": f, "ignore_eos": True,
                                            "logprobs": 0})["choices"][0] for f in (-2, 2))
    assert len(set(plain["logprobs"]["tokens"])) < len(set(other["logprobs"]["tokens"])), (plain, other)


def test_tools():
    """A model that knows of no tools is asked all the same; what tools said goes back to it."""
    tool = {"type": "function", "function": {"name": "count", "parameters": {"type": "object"}}}
    assert ask(CHAT, say("How do I quit?", tools=[tool]))["choices"][0]["message"]["content"]
    call = {"id": "a1", "type": "function", "function": {"name": "count", "arguments": "{\"of\": 3}"}}
    messages = [{"role": "user", "content": "Count."}, {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "a1", "content": "3"}]
    assert ask(CHAT, {"messages": messages, "max_tokens": 4})["choices"][0]["message"]["role"] == "assistant"
    messages[1]["tool_calls"][0]["function"]["arguments"] = "{"
    assert ask(CHAT, {"messages": messages}, 400)["error"]["param"] == "messages"


def test_tool_choice():
    """A model that has to call calls, also one that knows of no tools; in pieces and as a whole."""
    def tool(name, **properties):
        return {"type": "function", "function": {"name": name, "parameters": {
            "type": "object", "properties": properties, "required": list(properties),
            "additionalProperties": False, "$defs": {"day": {"enum": ["Mon", "Tue"]}}}}}

    tools = [tool("count", n={"type": "integer", "minimum": 0, "maximum": 99}),
             tool("meet", on={"$ref": "#/$defs/day"}, there={"type": "boolean"})]

    def check(message, names):
        assert not message.get("content"), message
        call, = message["tool_calls"]
        name, given = call["function"]["name"], json.loads(call["function"]["arguments"])
        assert call["id"] and call["type"] == "function" and name in names, call
        if name == "count":
            assert list(given) == ["n"] and 0 <= given["n"] <= 99, call
        else:
            assert sorted(given) == ["on", "there"] and given["on"] in ("Mon", "Tue"), call
            assert isinstance(given["there"], bool), call

    for seed in range(6):
        hot = dict(tools=tools, temperature=1.5, seed=seed, max_tokens=80)
        for choice, names in (("required", ["count", "meet"]),
                              ({"type": "function", "function": {"name": "meet"}}, ["meet"])):
            body = say("How do I quit?", tool_choice=choice, **hot)
            a = ask(CHAT, body)["choices"][0]
            check(a["message"], names)
            assert a["finish_reason"] == "tool_calls", a
            delta = {}
            for e in events(send("POST", CHAT, dict(body, stream=True))):
                for c in e["choices"]:
                    delta.update({k: v for k, v in c["delta"].items() if v})
                    last = c["finish_reason"]
            check(delta, names)
            assert last == "tool_calls", last
    cut = ask(CHAT, say("x", tools=tools, tool_choice="required") | {"max_tokens": 3})["choices"][0]
    assert cut["finish_reason"] == "length" and cut["message"]["content"].startswith("{"), cut
    assert "tool_calls" not in cut["message"], cut
    none = {"type": "function", "function": {"name": "none"}}
    for wrong in (none, "must", 3, {"type": "function"}):
        assert ask(CHAT, say("x", tools=tools, tool_choice=wrong), 400)["error"]["param"] == "tool_choice"
    other = tool("other")
    other["function"]["parameters"]["$defs"]["day"] = {"enum": [1]}
    assert "$defs/day" in ask(CHAT, say("x", tools=tools + [other], tool_choice="required"), 400)["error"]["message"]
    assert ask(CHAT, say("How do I quit?", tools=tools, tool_choice="none"))["choices"][0]["message"]["content"]


def test_ollama():
    name = json.loads(send("GET", "/api/tags").read())["models"][0]["name"]
    options = {"temperature": 0, "num_predict": 24}
    body = {"model": name, "messages": [{"role": "user", "content": "How do I quit?"}], "options": options}
    lines = [json.loads(x) for x in send("POST", "/api/chat", body).read().splitlines()]
    assert [x["done"] for x in lines] == [False] * (len(lines) - 1) + [True]
    text = "".join(x["message"]["content"] for x in lines)
    assert lines[-1]["eval_count"] > 0 and lines[-1]["done_reason"] in ("stop", "length")
    whole = ask("/api/chat", dict(body, stream=False))
    assert whole["message"]["content"] == text == stream(CHAT, say("How do I quit?"))[0]
    one = ask("/api/generate", {"model": name, "prompt": "How do I quit?", "stream": False, "options": options})
    assert one["response"] == text, one
    raw = ask("/api/generate", {"prompt": "tbtui is", "raw": True, "stream": False, "options": options})
    same = ask("/v1/completions", {"prompt": "tbtui is", "max_tokens": 24, "temperature": 0})
    assert raw["response"] == same["choices"][0]["text"]
    assert "no-such" in ask("/api/chat", dict(body, model="no-such"), 404)["error"]
    assert "version" in json.loads(send("GET", "/api/version").read())


WRONG = [
    (CHAT, "", 400, None), (CHAT, "{", 400, None), (CHAT, "[]", 400, None), (CHAT, "{}", 400, "messages"),
    (CHAT, '{"messages":[]}', 400, "messages"), (CHAT, {"messages": [{"role": "king", "content": "x"}]}, 400, "messages"),
    (CHAT, {"messages": [{"content": "x"}]}, 400, "messages"), (CHAT, {"messages": [3]}, 400, "messages"),
    (CHAT, {"messages": [{"role": "user", "content": 3}]}, 400, "messages"),
    (CHAT, {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400, "messages"),
    (CHAT, say("x", n=2), 400, "n"), (CHAT, say("x", temperature="hot"), 400, "temperature"),
    (CHAT, say("x", temperature=-1), 400, "temperature"), (CHAT, say("x", top_p=2), 400, "top_p"),
    (CHAT, say("x", max_tokens=1.5), 400, "max_tokens"), (CHAT, say("x", stop=3), 400, "stop"),
    (CHAT, say("x", stream="yes"), 400, "stream"), (CHAT, say("x", model="no-such"), 404, "model"),
    (CHAT, say("x", top_logprobs=3), 400, "top_logprobs"), (CHAT, say("x", logprobs=True, top_logprobs=99), 400, "top_logprobs"),
    (CHAT, say("x", response_format={"type": "xml"}), 400, "response_format"),
    (CHAT, say("x", tools=[{}]), 400, "tools"), (CHAT, say("x", tool_choice="required"), 400, "tool_choice"),
    (CHAT, say("x", logit_bias={"1": 5}), 400, "logit_bias"),
    (CHAT, '{"messages":[{"role":"user","content":"a\\u0000b"}]}', 400, None),
    (CHAT, b'{"messages":[{"role":"user","content":"\xff"}]}', 400, None),
    (CHAT, "[" * 5000, 400, None), (CHAT, say("word " * 5000), 400, None),
    ("/v1/completions", {"prompt": [1, 2]}, 400, "prompt"), ("/v1/nothing", {}, 404, None),
]


def test_errors():
    for path, body, status, param in WRONG:
        e = ask(path, body, status)["error"]
        assert e["message"] and e["type"] == "invalid_request_error" and e["param"] == param, (body, e)
    assert ask(CHAT, say("word " * 5000), 400)["error"]["code"] == "context_length_exceeded"
    r = send("GET", CHAT)
    assert r.status == 405 and r.getheader("Allow") == "POST"
    assert send("POST", "/v1/models", "{}").status == 405
    # What a page of another site would have a browser send.
    assert send("POST", CHAT, say("x"), {"Origin": "https://evil.example"}).status == 403
    assert send("POST", CHAT, say("x"), {"Host": "evil.example:%d" % PORT}).status == 403
    assert send("GET", "/health", None, {"Host": "localhost:%d" % PORT}).status == 200
    assert send("POST", CHAT, say("x"), {"Origin": "http://localhost:3000"}).status == 200
    assert send("GET", "/v1/models").getheader("Access-Control-Allow-Origin") is None


def test_huge():
    """A body over the limit is refused before it is read, announced or not."""
    c = socket.create_connection(("127.0.0.1", PORT), 60)
    c.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n{")
    assert b" 413 " in c.recv(4096).split(b"\r\n")[0]
    c.close()
    c = socket.create_connection(("127.0.0.1", PORT), 60)
    c.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
    try:
        for _ in range(64):
            c.sendall(b"100000\r\n" + b" " * 0x100000 + b"\r\n")
        got = c.recv(4096)
        assert not got, got
    except OSError:
        pass
    c.close()


def test_smuggling():
    """What two parsers could read in two ways is refused."""
    for head in (b"Content-Length: 2\r\nContent-Length: 30\r\n", b"Content-Length: -1\r\n", b"Content-Length: 0x5\r\n",
                 b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n"):
        c = socket.create_connection(("127.0.0.1", PORT), 60)
        c.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n" + head + b"\r\n{}GET /health HTTP/1.1\r\n"
                  b"Host: localhost\r\n\r\n")
        got = b""
        c.settimeout(1)
        try:
            while True:
                more = c.recv(4096)
                if not more:
                    break
                got += more
        except OSError:
            pass
        c.close()
        assert b'"status"' not in got, (head, got)


LONG = dict(max_tokens=100000, temperature=1.2, seed=3, ignore_eos=True)


def slow_to_end(headers=b""):
    """Asks for more than there will be, and returns the connection."""
    body = json.dumps(dict(say("Tell me", **LONG), stream=True, stop=None)).encode()
    c = socket.create_connection(("127.0.0.1", PORT), 60)
    c.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    return c


def test_gone():
    """Who goes away is not spoken to any longer, whether it was listening or waiting."""
    c = slow_to_end()
    c.recv(100)
    c.close()
    idle()
    body = json.dumps(say("Tell me", **LONG))
    c = HTTPConnection("127.0.0.1", PORT, timeout=60)
    c.request("POST", CHAT, body)
    time.sleep(0.1)
    c.close()
    idle()


def test_slow_reader():
    """Others do not wait for one that does not read."""
    slow = [slow_to_end() for _ in range(3)]
    assert ask(CHAT, say("How do I quit?"))["choices"][0]["message"]["content"]
    for c in slow:
        c.close()
    idle()


def test_left_behind():
    """Connections that clients leave at any moment take no place of others."""
    def leave(seed):
        for i in range(150):
            body = json.dumps(dict(say("word " * (i * 2), max_tokens=i % 60), stream=i % 2 == 0)).encode()
            text = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (CHAT.encode(), len(body)) + body
            c = socket.create_connection(("127.0.0.1", PORT), 60)
            c.sendall(text if i % 4 else text[:i * 3])
            time.sleep((i * 7 + seed) % 20 / 400)
            c.close()

    threads = [threading.Thread(target=leave, args=(i,)) for i in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    c = HTTPConnection("127.0.0.1", PORT, timeout=20)
    c.request("GET", "/health")
    assert c.getresponse().status == 200
    idle()


QUESTIONS = ["How do I quit?", "What is a GGUF?", "Which key verifies a model?", "How do I convert a model?",
             "What does u do?", "How do I see tensors?", "What is int4?", "How do I find duplicates?"]


def test_together():
    """Eight at once get what each gets alone."""
    def one(i, out):
        out[i] = ask(CHAT, say(QUESTIONS[i], max_tokens=40))["choices"][0]["message"]["content"]

    alone, joint = [None] * 8, [None] * 8
    for i in range(8):
        one(i, alone)
    threads = [threading.Thread(target=one, args=(i, joint)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert alone == joint, [(a, b) for a, b in zip(alone, joint) if a != b]


def test_crowd():
    """A hundred connections: each is answered, or told when to come again."""
    got = []

    def one():
        r = send("POST", CHAT, say("How do I quit?", max_tokens=4))
        r.read()
        got.append((r.status, r.getheader("Retry-After")))

    threads = [threading.Thread(target=one) for _ in range(100)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(got) == 100 and all(s == 200 or (s == 503 and int(a) >= 1) for s, a in got), got
    assert sum(s == 200 for s, _ in got) >= 8
    idle()


def with_key(key):
    assert send("GET", "/health").status == 200
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer " + key + "x"},
                    {"Authorization": "Bearer " + key[:-1]}, {"Authorization": "Bearer "}, {"Authorization": key}):
        for path in ("/v1/models", "/nothing"):
            r = send("GET", path, None, headers)
            assert r.status == 401, (headers, r.status)
            assert json.loads(r.read())["error"]["code"] == "invalid_api_key"
    assert send("POST", CHAT, say("x"), {"Authorization": "Bearer wrong"}).status == 401
    assert send("GET", "/v1/models", None, {"Authorization": "Bearer " + key}).status == 200


if len(sys.argv) > 2:
    with_key(open(sys.argv[2]).read().strip())
else:
    for name, fn in list(globals().items()):
        if name.startswith("test_"):
            fn()
            print("ok", name, flush=True)
