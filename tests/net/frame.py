"""What the servers of the tests have in common.

A server is a class of Handler; serve() runs it on a port of 127.0.0.1 that the kernel chooses.
Every answer becomes a line of JSON on standard output: server, method, path, status, sent (bytes
of the body that went out), got (bytes of the body that came), headers (of the request), and what
the server adds with note().  announce() tells the shell where the servers are (tests/net/lib.sh).
"""
import http.server
import json
import os
import socket
import ssl
import sys
import threading

PIECE = 256 * 1024
lock = threading.Lock()


def say(**line):
    with lock:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


class Gone(Exception):
    """The other side hung up."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 300
    name = "server"

    def setup(self):
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, *_):
        pass

    def handle_one_request(self):
        self.status, self.sent, self.got, self.extra = 0, 0, 0, {}
        self.command, self.path, self.headers = None, None, {}
        try:
            super().handle_one_request()
        except (Gone, ConnectionError, ssl.SSLError, socket.timeout):
            self.close_connection = True
            self.server.broken.add(self.connection)
        finally:
            if self.command:
                say(server=self.name, method=self.command, path=self.path, status=self.status,
                    sent=self.sent, got=self.got, headers=dict(self.headers), **self.extra)

    def note(self, **more):
        self.extra.update(more)

    # Every method ends in answer(), which the server has.
    def do_GET(self):
        self.answer()

    do_HEAD = do_PUT = do_POST = do_PATCH = do_DELETE = do_OPTIONS = do_GET

    def answer(self):
        self.fail(404, "404 page not found\n")

    def begin(self, status, headers):
        """The status line and headers; values of None are left out."""
        self.status = status
        self.send_response_only(status)
        for name, value in headers:
            if value is not None:
                self.send_header(name, str(value))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()

    def put(self, data):
        if self.command == "HEAD":
            return
        try:
            self.wfile.write(data)
        except OSError as e:
            raise Gone from e
        self.sent += len(data)

    def put_chunked(self, data):
        if data and self.command != "HEAD":
            self.put(b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data))
        elif self.command != "HEAD":
            self.put(b"0\r\n\r\n")

    def document(self, status, data, kind="application/json", **headers):
        if not isinstance(data, bytes):
            data = json.dumps(data).encode()
        self.drain()
        self.begin(status, [("Content-Type", kind), ("Content-Length", len(data))] +
                   [(k.replace("_", "-"), v) for k, v in headers.items()])
        self.put(data)

    def fail(self, status, text, **headers):
        self.document(status, text.encode(), "text/plain; charset=utf-8", **headers)

    def errors(self, status, code, message, **headers):
        self.document(status, {"errors": [{"code": code, "message": message}]}, **headers)

    def body(self):
        """The pieces of the request's body."""
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            yield from self.body_chunked()
            return
        left = int(self.headers.get("Content-Length") or 0) - self.got
        while left > 0:
            data = self.rfile.read1(min(left, PIECE))
            if not data:
                raise Gone
            left -= len(data)
            self.got += len(data)
            yield data

    def body_chunked(self):
        while not self.extra.get("chunked_end"):
            n = int(self.rfile.readline(64).split(b";")[0], 16)
            data = self.rfile.read(n)
            self.rfile.readline(64)
            self.got += n
            if not n:
                self.extra["chunked_end"] = True
            else:
                yield data

    def drain(self):
        for _ in self.body():
            pass

    def read_body(self):
        return b"".join(self.body())

    def file(self, path, ranges=True, **headers):
        """A file, or the stretch of it that is asked for."""
        size = os.path.getsize(path)
        first, last, status = 0, size - 1, 200
        asked = self.headers.get("Range", "") if ranges else ""
        if asked.startswith("bytes=") and "," not in asked:
            a, _, b = asked[6:].partition("-")
            first = int(a) if a else max(size - int(b), 0)
            last = min(int(b), size - 1) if a and b else size - 1
            if first >= size or last < first:
                self.fail(416, "range not satisfiable\n", Content_Range="bytes */%d" % size)
                return
            status = 206
            headers["Content_Range"] = "bytes %d-%d/%d" % (first, last, size)
        kind = headers.pop("Content_Type", "application/octet-stream")
        self.drain()
        self.begin(status, [("Content-Type", kind), ("Content-Length", last - first + 1),
                            ("Accept-Ranges", "bytes")] +
                   [(k.replace("_", "-"), v) for k, v in headers.items()])
        with open(path, "rb") as f:
            f.seek(first)
            left = last - first + 1
            while left > 0 and self.command != "HEAD":
                data = f.read(min(left, PIECE))
                left -= len(data)
                self.put(data)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    context = None
    broken = None               # connections that end without a word

    def finish_request(self, request, client_address):
        if self.context:
            try:
                request.settimeout(30)
                request = self.context.wrap_socket(request, server_side=True)
            except OSError:
                return
        self.RequestHandlerClass(request, client_address, self)
        try:
            if self.context and request not in self.broken:
                request.settimeout(1)
                request.unwrap()
            self.broken.discard(request)
            request.close()
        except OSError:
            pass

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], (Gone, OSError)):
            super().handle_error(request, client_address)


def serve(handler, pem=None, **attributes):
    """Runs a Handler in threads; answers its port.  The attributes become the class's."""
    handler = type(handler.__name__, (handler,), attributes)
    server = Server(("127.0.0.1", 0), handler)
    server.broken = set()
    if pem:
        server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.context.load_cert_chain(pem)
    handler.port = server.server_address[1]
    handler.scheme = "https" if pem else "http"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return handler


def announce(path, **ports):
    """NAME PORT lines for tests/net/lib.sh; returns when the program shall end: never."""
    with open(path + ".new", "w") as f:
        for name, port in ports.items():
            f.write("%s %d\n" % (name, port))
    os.rename(path + ".new", path)
    threading.Event().wait()
