"""A proxy that breaks things, in front of a registry or a hub.

proxy.py PORTS UPSTREAM [--pem FILE] [--ca FILE] [--user NAME:PASSWORD] [--plan FILE] [--rate BYTES]
    [--also URL]

Ports: "port" is the proxy; "recorder" is another host for redirects, which answers as the upstream
does, with credentials of its own (--user), and whose lines of the log (frame.py) show who sent
what; "plain" is a recorder without TLS; "also" is a proxy of a second upstream, to which
redirects lead where they led to that one.

The plan is a JSON list of faults, read again whenever it changes:
    {"match": "GET /v2/.*/blobs/", "do": "cut", "at": 1000, "skip": 0, "times": 1}
"match" is looked for in "METHOD PATH" ("" is every request), the first "skip" requests that match are
left alone, "times" of them are hit (0: all).  What "do" may be is in the tables INSTEAD (the upstream
is not asked), CHANGED (its answer is spoilt) and ASKED (the request is).  A line of the log has the
fault's name.
"""
import argparse
import base64
import http.client
import json
import os
import random
import re
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import frame

ENDLESS = 3 << 30


class State:
    """What all ports of a proxy share."""

    def __init__(self, upstream, ca=None, user=None, plan=None, rate=0):
        self.upstream, self.ca, self.user, self.rate = upstream, ca, user, rate
        self.plan_file, self.plan_time = plan, None
        self.faults = []
        self.lock = threading.Lock()
        self.next = time.monotonic()
        self.moved = {}         # path: bytes of bodies of GET that went out
        self.taken = 0          # bytes of bodies of requests
        self.asked = 0
        self.hit = []           # faults that happened
        self.bases = {}         # upstream's address: ours
        self.leaks = []         # requests to a recorder that had credentials

    def plan(self, faults):
        with self.lock:
            self.faults = [dict(f) for f in faults]

    def draw(self, method, path):
        """The fault for this request, or None."""
        with self.lock:
            self.asked += 1
            if self.plan_file:
                self.read_plan()
            for f in self.faults:
                if not re.search(f.get("match", ""), "%s %s" % (method, path)):
                    continue
                f["seen"] = f.get("seen", 0) + 1
                n = f["seen"] - f.get("skip", 0)
                if n >= 1 and (not f.get("times", 1) or n <= f.get("times", 1)):
                    self.hit.append(f["do"])
                    return f
        return None

    def read_plan(self):
        try:
            t = os.stat(self.plan_file).st_mtime_ns
            if t != self.plan_time:
                self.plan_time = t
                self.faults = json.load(open(self.plan_file))
        except FileNotFoundError:
            self.faults = []

    def wait(self, n):
        """Until n bytes more may go out."""
        if not self.rate:
            return
        with self.lock:
            now = time.monotonic()
            self.next = max(self.next, now - 0.02) + n / self.rate
            pause = self.next - now
        if pause > 0:
            time.sleep(pause)

    def count(self, path, n):
        with self.lock:
            path = path.partition("?")[0]
            self.moved[path] = self.moved.get(path, 0) + n

    def total(self, match="/blobs/"):
        with self.lock:
            return sum(n for path, n in self.moved.items() if match in path)


class Proxy(frame.Handler):
    name = "proxy"
    upstream = None             # of this port

    def setup(self):
        super().setup()
        self.up = None

    def finish(self):
        if self.up:
            self.up.close()
        try:
            super().finish()
        except OSError:
            pass

    def answer(self):
        fault = self.state.draw(self.command, self.path)
        do = fault["do"] if fault else None
        if do:
            self.note(fault=do)
        try:
            (INSTEAD.get(do) or ASKED.get(do) or Proxy.forward)(self, fault)
        finally:
            with self.state.lock:
                self.state.taken += self.got

    def own(self, path=""):
        return "%s://127.0.0.1:%d%s" % (self.scheme, self.port, path)

    def body(self):
        for data in super().body():
            self.state.wait(len(data))
            yield data

    # To the upstream and back

    def connect(self):
        where = urllib.parse.urlsplit(self.upstream)
        if where.scheme == "https":
            context = ssl.create_default_context(cafile=self.state.ca)
            return http.client.HTTPSConnection(where.hostname, where.port, context=context)
        return http.client.HTTPConnection(where.hostname, where.port)

    def request_headers(self, fault):
        for name, value in self.headers.items():
            if name.lower() in ("connection", "content-length", "transfer-encoding", "expect"):
                continue
            if name.lower() == "range" and fault and fault["do"] in ("whole", "shifted"):
                continue
            yield name, value
        if fault and fault["do"] == "shifted" and self.headers.get("Range"):
            a, b = (int(x or 0) for x in self.headers["Range"][6:].split("-"))
            yield "Range", "bytes=%d-%d" % (max(a - 1, 0), max(b - 1, 0))
        yield "X-Forwarded-Proto", self.scheme

    def ask(self, fault, body=None):
        """Sends the request on; the answer of the upstream."""
        length = self.headers.get("Content-Length")
        chunked = self.headers.get("Transfer-Encoding", "").lower() == "chunked"
        if body is None and (chunked or int(length or 0)):
            body = self.body()
        for again in (True, False):
            fresh = self.up is None
            self.up = self.up or self.connect()
            try:
                self.up.putrequest(self.command, self.path, skip_host=True,
                                   skip_accept_encoding=True)
                for name, value in self.request_headers(fault):
                    self.up.putheader(name, value)
                if chunked:
                    self.up.putheader("Transfer-Encoding", "chunked")
                elif length is not None:
                    self.up.putheader("Content-Length", length)
                self.up.endheaders(body, encode_chunked=chunked)
                return self.up.getresponse()
            except (http.client.HTTPException, OSError) as e:
                self.up.close()
                self.up = None
                if fresh or not again or self.got:
                    raise frame.Gone from e
        raise frame.Gone

    def forward(self, fault=None):
        back = self.ask(fault)
        if fault and fault["do"] == "lost":
            back.read()
            raise frame.Gone
        length = back.getheader("Content-Length")
        headers = [(k, self.rebase(k, v)) for k, v in back.getheaders() if k.lower() not in (
            "connection", "transfer-encoding", "content-length", "server", "date")]
        length = int(length) if length is not None else None
        if fault and fault["do"] in HEADED:
            headers, length = HEADED[fault["do"]](self, fault, headers, length)
        empty = self.command == "HEAD" or back.status in (204, 304)
        self.chunked = length is None and not empty and not (fault and fault["do"] == "nolength")
        if length is None and not empty and not self.chunked:
            self.close_connection = True
        self.drain()
        self.begin(back.status, headers + [("Content-Length", length),
                                           ("Transfer-Encoding", "chunked" if self.chunked else None)])
        if not empty:
            self.pass_body(back, fault, length)
        if self.chunked:
            self.put(b"0\r\n\r\n")
        back.read()

    def rebase(self, name, value):
        if name.lower() in ("location", "www-authenticate", "link"):
            for theirs, ours in self.state.bases.items():
                value = value.replace(theirs, ours)
        return value

    def pass_body(self, back, fault, length):
        spoil = CHANGED.get(fault["do"]) if fault else None
        piece = 16384 if self.state.rate or spoil else frame.PIECE
        while True:
            data = back.read(piece)
            if not data:
                break
            if spoil:
                data = spoil(self, fault, data)
            if length is not None and self.sent + len(data) > length:
                data = data[:length - self.sent]
            self.pass_piece(data)
        if length is not None and self.sent < length:
            if fault and fault["do"] == "long":
                self.pass_piece(b"L" * (length - self.sent))
            else:
                raise frame.Gone

    def pass_piece(self, data):
        self.state.wait(len(data))
        self.put(b"%x\r\n%b\r\n" % (len(data), data) if data and self.chunked else data)
        self.state.count(self.path, len(data))


# Answers that the upstream has no part in

def close(h, _):
    raise frame.Gone


def reset(h, _):
    h.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    h.connection.close()
    raise frame.Gone


def garbage(h, fault):
    h.connection.sendall(random.Random(fault.get("at", 0)).randbytes(4096))
    raise frame.Gone


def status(h, fault):
    code = fault.get("status", 503)
    text = fault.get("text", "the test's server says %d" % code)
    more = {"Retry_After": fault.get("after")} if "after" in fault else {}
    if fault.get("json", True):
        h.errors(code, fault.get("code", "TOOMANYREQUESTS" if code == 429 else "UNKNOWN"), text, **more)
    else:
        h.fail(code, text, **more)


def redirect(h, fault):
    h.fail(fault.get("status", 307), "elsewhere\n",
           Location="%s://127.0.0.1:%d%s" % (h.scheme, h.recorder, h.path))


def downgrade(h, fault):
    h.fail(307, "elsewhere\n", Location="http://127.0.0.1:%d%s" % (h.plain, h.path))


def loop(h, fault):
    h.fail(307, "round\n", Location=h.own(h.path))


def location(h, fault):
    h.fail(fault.get("status", 307), "there\n", Location=fault["to"])


def bomb(h, fault):
    """A gigabyte in a megabyte."""
    c = zlib.compressobj(9, zlib.DEFLATED, -15)
    zeros = c.compress(bytes(1 << 20)) + c.flush(zlib.Z_FULL_FLUSH)
    data = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + zeros * 1024 + c.flush() + bytes(8)
    h.document(200, data, fault.get("type", "application/octet-stream"), Content_Encoding="gzip")


def headers(h, _):
    h.connection.sendall(b"HTTP/1.1 200 OK\r\n")
    line = b"X-More: " + b"x" * 1000 + b"\r\n"
    pour(h, line * 64)


def endless(h, fault):
    h.close_connection = True
    h.drain()
    h.begin(fault.get("status", 200), [("Content-Type", fault.get("type", "text/plain"))])
    pour(h, fault.get("text", "[[[[ ").encode() * 10000)


def huge(h, fault):
    """A manifest of a gigabyte, whose length is said."""
    h.drain()
    h.begin(200, [("Content-Type", "application/vnd.docker.distribution.manifest.v2+json"),
                  ("Content-Length", 1 << 30)])
    pour(h, b'{"schemaVersion":2,"x":"' + b"x" * (1 << 20))


def pour(h, data):
    left = ENDLESS
    while left > 0:
        h.put(data)
        left -= len(data)
    raise frame.Gone


def text(h, fault):
    """Whatever the plan says."""
    h.document(fault.get("status", 200), fault.get("text", "").encode(),
               **dict({"kind": fault.get("type", "application/json")}, **fault.get("headers", {})))


INSTEAD = {"close": close, "reset": reset, "garbage": garbage, "status": status,
           "redirect": redirect, "downgrade": downgrade, "loop": loop, "location": location,
           "bomb": bomb, "headers": headers, "endless": endless, "huge": huge, "text": text}


# Answers of the upstream, spoilt

def cut(h, fault, data):
    left = fault.get("at", 0) - h.sent
    if left < len(data):
        if left > 0:
            h.pass_piece(data[:left])
        raise frame.Gone
    return data


def stall(h, fault, data):
    left = fault.get("at", 0) - h.sent
    if left < len(data) and not h.extra.get("stalled"):
        h.extra["stalled"] = True
        if left > 0:
            h.pass_piece(data[:left])
            data = data[left:]
        time.sleep(fault.get("seconds", 60))
    return data


def slow(h, fault, data):
    rate = fault.get("rate", 10000)
    for i in range(0, len(data), 1024):
        time.sleep(min(len(data) - i, 1024) / rate)
        h.pass_piece(data[i:i + 1024])
    return b""


def wrong(h, fault, data):
    at = fault.get("at", 0) - h.sent
    if 0 <= at < len(data):
        data = data[:at] + bytes([data[at] ^ fault.get("mask", 1)]) + data[at + 1:]
    return data


CHANGED = {"cut": cut, "stall": stall, "slow": slow, "wrong": wrong}


# Headers of answers, spoilt: (headers, length) of the answer instead

def without(fields, name):
    return [(k, v) for k, v in fields if k.lower() != name]


def short(h, fault, fields, length):
    return fields, max((length or 0) - fault.get("by", 1), 0)


def long(h, fault, fields, length):
    return fields, (length or 0) + fault.get("by", 1)


def shift_range(h, fault, fields, length):
    for k, v in fields:
        m = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", v)
        if k.lower() == "content-range" and m:
            a, b, n = (int(x) for x in m.groups())
            fields = without(fields, "content-range") + [
                ("Content-Range", "bytes %d-%d/%d" % (a + 1, b + 1, n))]
    return fields, length


def no_range(h, fault, fields, length):
    return without(fields, "content-range"), length


def claim_range(h, fault, fields, length):
    """Other bytes than asked for, under the name of those."""
    asked = re.fullmatch(r"bytes=(\d+)-(\d+)", h.headers.get("Range", ""))
    for k, v in fields:
        if k.lower() == "content-range" and asked:
            fields = without(fields, "content-range") + [
                ("Content-Range", "bytes %s-%s/%s" % (asked[1], asked[2], v.rpartition("/")[2]))]
    return fields, length


def no_length(h, fault, fields, length):
    return fields, None


def other_digest(h, fault, fields, length):
    return without(fields, "docker-content-digest") + [
        ("Docker-Content-Digest", "sha256:" + "0" * 64)], length


HEADED = {"short": short, "long": long, "range": shift_range, "norange": no_range,
          "shifted": claim_range, "nolength": no_length, "digest": other_digest}
CHANGED.update({name: None for name in list(HEADED) + ["whole", "lost"]})


# Requests, spoilt

def deaf(h, fault):
    """Stops in the middle of what is sent."""
    for _ in h.body():
        if h.got > fault.get("at", 0):
            break
    raise frame.Gone


def half(h, fault):
    """The upstream gets a part of what is sent."""
    def some():
        for data in h.body():
            if h.got > fault.get("at", 0):
                h.up.close()
                raise frame.Gone
            yield data
    h.ask(fault, some())
    raise frame.Gone


ASKED = {"deaf": deaf, "half": half}


class Recorder(Proxy):
    """Another host: answers as the upstream does, and keeps what was sent to it."""
    name = "recorder"

    def answer(self):
        sent = [k for k in self.headers.keys() if k.lower() in (
            "authorization", "cookie", "proxy-authorization")]
        if sent:
            self.note(leak=sent)
            with self.state.lock:
                self.state.leaks.append("%s %s: %s" % (self.command, self.path, sent))
        self.forward()

    def request_headers(self, fault):
        for name, value in super().request_headers(fault):
            if name.lower() != "authorization":
                yield name, value
        if self.state.user:
            yield "Authorization", "Basic " + base64.b64encode(self.state.user.encode()).decode()


def start(state, pem=None, also=None):
    """The ports of a proxy: {"port": N, "recorder": N, "plain": N}."""
    def front(upstream):
        to = {"state": state, "upstream": upstream}
        recorder, plain = frame.serve(Recorder, pem, **to), frame.serve(Recorder, None, **to)
        proxy = frame.serve(Proxy, pem, recorder=recorder.port, plain=plain.port, **to)
        state.bases[upstream] = "%s://127.0.0.1:%d" % (proxy.scheme, proxy.port)
        return {"port": proxy.port, "recorder": recorder.port, "plain": plain.port}

    ports = front(state.upstream)
    if also:
        ports["also"] = front(also)["port"]
    return ports


def main():
    args = argparse.ArgumentParser()
    args.add_argument("ports")
    args.add_argument("upstream")
    args.add_argument("--pem")
    args.add_argument("--ca")
    args.add_argument("--user")
    args.add_argument("--plan")
    args.add_argument("--also")
    args.add_argument("--rate", type=float, default=0)
    a = args.parse_args()
    state = State(a.upstream, a.ca, a.user, a.plan, a.rate)
    frame.announce(a.ports, **start(state, a.pem, a.also))


if __name__ == "__main__":
    main()
