"""Registries that mean harm.

hostile.py [NAME]: each case below (each third in a build with sanitizers), or one.  Of each is asked:
an end with a clear sentence, in bounded time and memory, nothing written where it does not belong, no
password to anybody else, nothing on the terminal that it would obey.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
import time

import bed

MEMORY = 200 << 20              # bytes; a program that only pulls needs a part of it
SECONDS = 60
SANITIZED = b"__asan_init" in open(bed.TBTUI, "rb").read()
TYPE = bed.MANIFEST_TYPE
HEX = "a" * 64
SAYS = "manifest|digest|sha256|JSON|layer|config"
ESC = "\x1b[2J\x1b]0;title\x07\x9b31m"
BLOBS, MANIFESTS = "GET .*(/blobs/|/)sha256:", "GET .*/manifests/"


class Bench:
    """A store to pull into, a stock registry with passwords behind a proxy."""

    def __init__(self):
        self.source = bed.fresh("source")
        self.text = bed.make_model(self.source, "model", "v1", [2000000, 5000, 100], 1)
        self.stock, self.locked = bed.Place("stock"), bed.Place("locked")
        bed.login([self.locked])
        for p in (self.stock, self.locked):
            p.put(self.source, "model", "v1", "library/model")
        self.bad = self.cases = 0

    def run(self, store, place, *words):
        """(exit status, text, ru_maxrss, seconds)"""
        start = time.monotonic()
        out = open(bed.beside(store, ".said"), "wb")
        child = subprocess.Popen(bed.command(store, *words), env=dict(bed.ENV, **place.env),
                                 stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        while True:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid or time.monotonic() - start > SECONDS:
                break
            time.sleep(0.02)
        if not pid:
            child.kill()
            child.wait()
            return None, open(bed.beside(store, ".said"), errors="replace").read(), 0, SECONDS
        child.returncode = os.waitstatus_to_exitcode(status)
        text = open(bed.beside(store, ".said"), "rb").read().decode(errors="replace")
        return child.returncode, text, usage.ru_maxrss << 10, time.monotonic() - start

    def case(self, name, place, faults, says, ok=False, words=None, store=None):
        """says: what the message has to match; ok: it is well that it ends well."""
        self.cases += 1
        if (sys.argv[1] != name) if len(sys.argv) > 1 else SANITIZED and self.cases % 3:
            return
        self.inside = set(os.listdir(bed.T))
        store = store or bed.fresh("hostile")
        words = words or ("pull", place.name("library/model", "v1"), "model:v1")
        place.state.plan(faults)
        before = place.state.asked
        rc, text, rss, seconds = self.run(store, place, *words)
        place.state.plan([])
        why = [w for w in (
            bed.crashed(rc, text), bed.judge(store),
            rc == 0 and ok is False and "it ended well",
            rc and ok is True and "exit status %d" % rc,
            not re.search(says, text) and "it does not say %s" % says,
            rss > MEMORY and not SANITIZED and "it took %d MB" % (rss >> 20),
            re.search("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", text) and "control characters",
            len(text) > 4000 and "%d bytes of text" % len(text),
            place.state.leaks and "a password went elsewhere: %s" % place.state.leaks,
            set(os.listdir(bed.T)) - self.inside - {os.path.basename(store) + x for x in (
                "", ".db", ".said", ".db-wal", ".db-shm", ".db.audits.db")} and "something was written outside",
            place.state.asked - before > 110 and "it asked %d times" % (place.state.asked - before),
        ) if w]
        place.state.leaks = []
        if why:
            self.bad += 1
        if why or len(sys.argv) > 1:
            print("%s: %s\n  %s, %d MB, %.1f s: %s" % (name, "; ".join(why), rc, rss >> 20, seconds,
                                                       text[-1500:]), file=sys.stderr, flush=True)


def always(do, match="", **more):
    return [dict(more, do=do, match=match, times=0)]


def manifest(**more):
    """A plan that answers with this manifest."""
    doc = {"schemaVersion": 2, "mediaType": TYPE,
           "config": {"mediaType": "application/vnd.docker.container.image.v1+json",
                      "digest": "sha256:" + HEX, "size": 2}, "layers": []}
    doc.update(more)
    return raw(json.dumps({k: v for k, v in doc.items() if v is not None}))


def raw(text, kind=TYPE):
    return always("text", MANIFESTS, text=text, type=kind)


def layer(digest="sha256:" + HEX, size=2, kind="application/vnd.ollama.image.model", **more):
    return dict(more, mediaType=kind, digest=digest, size=size)


def challenge(text, status=401):
    return always("text", "", status=status, text="{}", headers={"WWW_Authenticate": text})


def elsewhere(b):
    """Redirects to other hosts: followed where that is harmless, without what shows who asks."""
    p = b.locked
    b.case("blobs elsewhere", p, always("redirect", BLOBS), "", ok=True)
    b.case("all elsewhere", p, always("redirect"), "", ok=True)
    for status in (301, 302, 303, 307, 308):
        b.case("redirect %d" % status, p, always("redirect", BLOBS, status=status), "", ok=True)
    b.case("https to http", p, always("downgrade"), "https to http")
    b.case("blobs: https to http", p, always("downgrade", BLOBS), "https to http")
    b.case("round and round", p, always("loop"), "again and again|too many")
    b.case("blobs round and round", p, always("loop", BLOBS), "again and again|too many")
    for to in ("file:///etc/passwd", "gopher://127.0.0.1:1/x", "//", "http://[::1", "ftp://127.0.0.1/x",
               "data:,x", "https://a b/", "\x1b[31m", "x" * 100000):
        b.case("location " + to[:20], p, always("location", BLOBS, to=to), ".")


def bounds(b):
    """Answers without end, and lies about how long they are."""
    p = b.stock
    for do in ("endless", "huge", "bomb", "headers", "garbage"):
        b.case("manifest " + do, p, always(do, MANIFESTS, type=TYPE), "manifest|127.0.0.1")
        b.case("blob " + do, p, always(do, BLOBS), "127.0.0.1|sha256|blob")
    b.case("deep manifest", p, raw("[" * 2000000), SAYS)
    b.case("many layers", p, manifest(layers=[layer("sha256:%064x" % i) for i in range(20000)]), ".")
    b.case("endless error", p, always("endless", BLOBS, status=403), ".")
    b.case("error in colour", p, always("status", MANIFESTS, status=403, text="go " + ESC + " away"),
           "go .*away")
    b.case("plain error in colour", p, always("status", MANIFESTS, status=412, text="needs " + ESC,
                                              json=False), "needs")
    b.case("long error", p, always("status", MANIFESTS, status=400, text="no " * 20000), "no no")


def manifests(b):
    """What a manifest may say."""
    p = b.stock
    for digest in ("../../../../../etc/passwd", "sha256:../../../../x", "sha256:" + "A" * 64, "", "sha256:",
                   "sha256:" + "a" * 63, "sha256:" + "a" * 65, "sha512:" + "a" * 128, "md5:" + "a" * 32,
                   "/etc/passwd", "sha256-" + HEX, "sha256:" + "a" * 60 + "/../", "sha256:\0" + "a" * 63,
                   ESC, None, 7, ["sha256:" + HEX], {}):
        b.case("digest %r" % (digest,), p, manifest(layers=[layer(digest)]), SAYS)
        if not isinstance(digest, str) or len(digest) < 40:
            b.case("config %r" % (digest,), p, manifest(config=layer(digest)), SAYS)
    for size in (-1, 1e300, 2 ** 63, 2 ** 64, 2 ** 53, "2", None, 1.5, [], True):
        b.case("size %r" % (size,), p, manifest(layers=[layer(size=size)]), "size|manifest|room|space|large")
    b.case("two sizes", p, manifest(layers=[layer(size=2), layer(size=3)]), "size|manifest")
    for name, doc in (("no layers", {"layers": None}), ("layers is no list", {"layers": {}}),
                      ("layer is no object", {"layers": ["x", 1, None]}), ("no config", {"config": None}),
                      ("config is a list", {"config": []}), ("version 1", {"schemaVersion": 1}),
                      ("version x", {"schemaVersion": "x"})):
        b.case(name, p, manifest(**doc), SAYS)
    for text in ("", "null", "[]", "{", "true", "\0", "<html>", '{"schemaVersion":2}', "\ufeff{}",
                 '{"layers":[{"digest":"\\ud800"}]}'):
        b.case("manifest %r" % text, p, raw(text), SAYS)
    schema1 = "application/vnd.docker.distribution.manifest.v1+prettyjws"
    b.case("schema 1", p, raw('{"schemaVersion":1,"fsLayers":[]}', schema1), "manifest")
    index = "application/vnd.oci.image.index.v1+json"
    inner = {"schemaVersion": 2, "mediaType": index, "manifests": []}
    for n in (0, 1, 5000):
        inner["manifests"] = [{"mediaType": TYPE, "digest": "sha256:%064x" % i, "size": 300,
                               "platform": {"os": ESC, "architecture": "../.."}} for i in range(n)]
        b.case("index of %d" % n, p, raw(json.dumps(inner), index), ".")
    text = json.dumps(dict(inner, manifests=[{"mediaType": index, "digest": "sha256:" + HEX, "size": 9}]))
    b.case("index of itself", p, raw(text, index), ".")
    b.case("another digest", p, always("digest", MANIFESTS), "should be")
    b.case("kinds in colour", p, manifest(layers=[layer(kind=ESC * 50, name=ESC)]), ".")


def short_and_long(b):
    """Bodies that are not what the manifest says, each time."""
    p = b.stock
    digest = next(d for d, n in bed.layers_of(b.text).items() if n > 1000000)
    big = "GET .*" + digest
    for do in ("short", "long", "wrong", "shifted", "range", "norange"):
        b.case("always " + do, p, always(do, big, by=1, at=5), "sha256|blob|bytes|range" +
               ("|" if do == "shifted" else ""), ok=None)
    b.case("another blob", p, always("text", big, text="x" * 2000000), "sha256|blob|digest")
    b.case("a page", p, always("text", big, text="<html>log in</html>", type="text/html"), "sha256|blob")


def who(b):
    """Challenges."""
    p = b.locked
    for text in ('Bearer realm="https://127.0.0.1:1/token",service="x"',
                 'Bearer realm="http://127.0.0.1:1/token"', 'Bearer realm="file:///etc/passwd"',
                 'Bearer realm="/token"', "Bearer", "Basic", 'Bearer realm=', 'Bearer realm="x',
                 'Negotiate', "NTLM", 'Digest realm="x", nonce="y"', "", ",,,,", '"' * 1000,
                 "Basic " + "a=b," * 5000, 'Bearer realm="https://127.0.0.1:%d/token"' % p.port):
        b.case("challenge %s" % text[:50], p, challenge(text), "401|password|credential|token|who asks|nobody answers")
    realm = 'Bearer realm="https://127.0.0.1:%d/token",service="s",scope="repository:x:pull"' % p.port
    plan = challenge(realm)
    plan[0]["match"] = "/v2/"
    for name, token in (("evil", {"token": "a\r\nX-Evil: 1"}), ("long", {"token": "a" * 60000}),
                        ("none", {}), ("number", {"token": 7}), ("list", [])):
        b.case("token " + name, p, plan + always("text", "/token", text=json.dumps(token)), ".")
    b.case("token endless", p, plan + always("endless", "/token", type="application/json"), ".")
    b.case("token elsewhere", p, plan + always("redirect", "/token"), ".")


def writing(b):
    """Where uploads are said to go."""
    for p in (b.stock, b.locked):
        words = "push", "model:v1", p.name("library/other", "v1")
        for to in ("file:///etc/passwd", "gopher://127.0.0.1:1/", "../../../x", "//", "", "http://",
                   "\x1b[31m"):
            b.case("%s: upload to %s" % (p.kind, to), p, always("text", "POST ", status=202,
                   headers={"Location": to}), ".", words=words, store=b.source)
        b.case(p.kind + ": uploads elsewhere", p, always("redirect", "(POST|PATCH|PUT) "), ".", ok=None,
               words=words, store=b.source)
        b.case(p.kind + ": upload without a place", p, always("text", "POST ", status=202), ".",
               words=words, store=b.source)
        b.case(p.kind + ": endless answer", p, always("endless", "POST "), ".", words=words,
               store=b.source)


def main():
    b = Bench()
    for part in (elsewhere, bounds, manifests, short_and_long, who, writing):
        part(b)
    if b.bad:
        sys.exit("%d cases went wrong (hostile.py NAME)" % b.bad)


main()
