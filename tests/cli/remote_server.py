"""A server that speaks as those of models do, well or badly as the model's name says.

remote_server.py FOLDER: writes FOLDER/port (its own), FOLDER/other (of a second server, which only
notes what reaches it) and, with FOLDER/server.pem there, FOLDER/tls; each request becomes a line of
FOLDER/log, and "gone" one when somebody hangs up on an answer.
"""
import http.server
import json
import os
import ssl
import sys
import threading
import time
import zlib

FOLDER = sys.argv[1]
KEY = "sk-right-key"
MODELS = ["plain", "think", "org/name:8b"]
lock = threading.Lock()


def note(**line):
    with lock, open(os.path.join(FOLDER, "log"), "a") as f:
        f.write(json.dumps(line) + "\n")


def delta(end=None, **said):
    return {"choices": [{"index": 0, "delta": said, "finish_reason": end}]}


WORDS = ["Once ", "upon ", "a ", "time", "."]
USAGE = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 5,
                                  "prompt_tokens_details": {"cached_tokens": 4}}}


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def begin(self, status=200, kind="text/event-stream", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.close_connection = True

    def put(self, data):
        self.wfile.write(data if isinstance(data, bytes) else data.encode())
        self.wfile.flush()

    def event(self, data):
        self.put("data: %s\n\n" % (data if isinstance(data, str) else json.dumps(data)))

    def answer(self, words, **last):
        self.begin()
        for w in words:
            self.event(delta(content=w))
        self.event(delta(end="stop", **last))
        self.event(USAGE)
        self.event("[DONE]")

    def document(self, status, doc, **headers):
        self.begin(status, "application/json", **headers)
        self.put(json.dumps(doc))

    def seen(self, body=None):
        note(server=self.server.name, method=self.command, path=self.path,
             key=self.headers.get("Authorization"), body=body)

    def do_GET(self):
        self.seen()
        if self.path.startswith("/away/"):
            other = "http://127.0.0.1:%d/v1/models" % self.server.other
            self.document(302, {}, Location=other)
        elif self.path.startswith("/key/") and self.headers.get("Authorization") != "Bearer " + KEY:
            said = (self.headers.get("Authorization") or "").replace("Bearer ", "")
            self.document(401, {"error": {"message": "wrong key: " + said}})
        elif self.path.startswith("/none/"):
            self.document(404, {"detail": "Not Found"})
        elif self.path.startswith("/web/"):
            self.begin(kind="text/html")
            self.put("<html>hello</html>")
        elif self.path.startswith("/endless/"):
            self.put("HTTP/1.1 200 OK\r\n")
            try:
                for i in range(1000000):
                    self.put("X-Line-%d: %s\r\n" % (i, "x" * 1000))
            except OSError:
                note(gone="endless")
        elif self.path.startswith("/one/"):
            self.document(200, {"data": [{"id": "only", "owned_by": "me", "max_model_len": 777}]})
        else:
            self.document(200, {"object": "list", "data": [{"id": m} for m in MODELS]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen(body)
        if self.path.startswith("/key/") and self.headers.get("Authorization") != "Bearer " + KEY:
            self.document(401, {"error": {"message": "wrong key"}})
            return
        if self.path == "/v1/completions":
            self.begin()
            for w in WORDS:
                self.event({"choices": [{"text": w, "finish_reason": None}]})
            self.event({"choices": [{"text": "", "finish_reason": "stop"}]})
            self.event("[DONE]")
            return
        if self.path.startswith("/other/"):
            self.as_plain(body)
            return
        getattr(self, "as_" + body["model"].replace("-", "_"), self.as_plain)(body)

    def as_plain(self, body):
        self.answer(WORDS)

    def as_think(self, body):
        self.begin()
        self.event(delta(role="assistant", content=None))
        self.event(delta(reasoning_content="Hm, "))
        self.event(delta(reasoning="so."))
        self.event(delta(content="Yes."))
        self.event(delta(end="stop"))
        self.event("[DONE]")

    def as_tools(self, body):
        self.begin()
        call = {"index": 0, "id": "c1", "type": "function",
                "function": {"name": "weather", "arguments": ""}}
        self.event(delta(tool_calls=[call]))
        for piece in ['{"ci', 'ty": "Ro', 'me"}']:
            self.event(delta(tool_calls=[{"index": 0, "function": {"arguments": piece}}]))
        self.event(delta(end="tool_calls"))
        self.event("[DONE]")

    def as_document(self, body):
        self.document(200, {"choices": [{"message": {"role": "assistant", "content": "At once."},
                                         "finish_reason": "stop"}], "usage": USAGE["usage"]})

    def as_crlf(self, body):
        self.begin()
        self.put(": hello\r\n\r\n")
        for byte in "data: %s\r\n\r\ndata: %s\r\n\r\n" % (
                json.dumps(delta(content="piece by piece")), json.dumps(delta(end="stop"))):
            self.put(byte)

    def as_hostile(self, body):
        self.begin()
        self.put(b'data: {"choices":[{"delta":{"content":"a\xff\xfeb"}}]}\n\n')
        self.put(b'data: {"choices":[{"delta":{"content":"\\u001b[31mred\\u0007"}}]}\n\n')
        self.put(b'data: {"choices":[{"delta":{"content":"\\u0000nul \\ud83d half \\ud83d\\ude00 whole"}}]}\n\n')
        self.event(delta(end="stop"))

    def as_refuses(self, body):
        self.document(400, {"error": {"message": "top_k is\nnot \x1b[31mknown"}})

    def as_small(self, body):
        if len(body["messages"]) > 3:
            self.document(400, {"error": {"message": "too much", "type": "exceed_context_size_error"}})
        else:
            self.as_plain(body)

    def as_busy(self, body):
        self.document(429, {"error": "slow down"})

    def as_fails(self, body):
        self.document(500, {"error": {"message": "your key %s is bad for me" % KEY}})

    def as_scolds(self, body):
        """An error without end."""
        self.send_response(500)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        try:
            for _ in range(200):
                self.put("no " * 1000)
                time.sleep(0.05)
        except OSError:
            note(gone="scolds")

    def as_breaks(self, body):
        self.begin()
        self.event(delta(content="So far "))
        self.event({"error": {"message": "out of memory", "code": 500}})

    def as_cut(self, body):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        data = "data: %s\n\n" % json.dumps(delta(content="Half of "))
        self.put("%x\r\n%s\r\n" % (len(data), data))
        self.close_connection = True

    def as_ends(self, body):
        self.begin()
        self.event(delta(content="Half of "))

    def as_hangs(self, body):
        self.begin()
        self.event(delta(content="I think "))
        try:
            for _ in range(100):
                time.sleep(0.05)
                self.put(": still here\n\n")
        except OSError:
            note(gone="hangs")

    def as_web(self, body):
        self.begin(kind="text/html")
        self.put("<html>hello</html>")

    def as_bomb(self, body):
        packed = zlib.compressobj(9, zlib.DEFLATED, 31)
        data = packed.compress(b"data: x\n" * (2 << 20)) + packed.flush()
        self.begin(Content_Encoding="gzip")
        try:
            self.put(data)
        except OSError:
            pass

    def as_wide(self, body):
        self.begin()
        try:
            self.put("data: ")
            for _ in range(32):
                self.put("x" * (1 << 20))
        except OSError:
            note(gone="wide")

    def as_near(self, body):
        self.document(307, {}, Location="/other/v1/chat/completions")

    def as_moved(self, body):
        self.document(302, {}, Location="/other/v1/chat/completions")

    def as_far(self, body):
        self.document(307, {}, Location="http://127.0.0.1:%d/v1/chat/completions" % self.server.other)

    def as_round(self, body):
        self.document(307, {}, Location=self.path)


def serve(name, file, tls=False):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.daemon_threads = True
    server.name = name
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(FOLDER, "server.pem"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with open(os.path.join(FOLDER, file + ".part"), "w") as f:
        f.write("%d\n" % server.server_port)
    os.rename(os.path.join(FOLDER, file + ".part"), os.path.join(FOLDER, file))
    return server


other = serve("other", "other")
if os.path.exists(os.path.join(FOLDER, "server.pem")):
    serve("tls", "tls", tls=True).other = other.server_port
main = serve("main", "port")
main.other = other.server_port
other.other = main.server_port
while os.path.exists(os.path.join(FOLDER, "port")):
    time.sleep(0.2)
