"""A registry with the differences of Ollama's own; it serves and fills a store's folder.

ollama_registry.py PORTS STORE [--pem FILE] [--keys FILE] [--token-life SECONDS]
    [--uploads plain|redirect|direct]

What differs from a stock registry: no /v2/, no lists of tags; HEAD of a manifest is 405; a manifest
is text/plain and has no length; blobs are 307 to another port ("cdn"), with a signed address, and who
sends Authorization there gets 400; models named needs-macos or needs-newer are 412 in plain words.
With --keys (a file of public ssh keys, one a line) writing anything, and reading of the namespace
"private", wants a token, which is given for a signature of one of the keys.
Uploads: as a stock registry does; or each PATCH is 307 to the CDN; or, with X-Redirect-Uploads: 2,
the whole blob goes to the CDN at once.
"""
import argparse
import base64
import hashlib
import json
import os
import re
import secrets
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ed25519
import frame

EMPTY = base64.b64encode(hashlib.sha256(b"").hexdigest().encode()).decode()
NAME = r"/v2/([\w.-]+/[\w.-]+)"


class State:
    def __init__(self, store, keys, life, uploads):
        self.store, self.life, self.uploads = store, life, uploads
        self.keys = {}
        self.nonces = set()
        self.tokens = {}        # token: (scopes, end)
        self.signed = {}        # path at the CDN: until when
        self.sessions = {}      # upload: {"data", "parts", "state"}
        for line in open(keys) if keys else []:
            self.keys[line.split()[1]] = base64.b64decode(line.split()[1])[-32:]

    def blob(self, digest):
        return os.path.join(self.store, "blobs", digest.replace(":", "-"))

    def manifest(self, repo, tag):
        return os.path.join(self.store, "manifests", "registry.ollama.ai", *repo.split("/"), tag)

    def keep(self, path, data):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        new = "%s.%s" % (path, secrets.token_hex(4))
        with open(new, "wb") as f:
            f.write(data)
        os.rename(new, path)


class Cdn(frame.Handler):
    name = "cdn"

    def answer(self):
        where = urllib.parse.urlsplit(self.path)
        until = self.state.signed.get(self.path)
        if self.headers.get("Authorization"):
            self.fail(400, "<Code>InvalidArgument</Code><Message>Only one auth mechanism allowed"
                           "</Message>\n")
        elif until is None or until < time.time():
            self.fail(403, "<Code>AccessDenied</Code><Message>Request has expired</Message>\n")
        elif self.command in ("GET", "HEAD"):
            self.file(self.state.blob(where.path[1:]))
        elif self.command == "PUT":
            self.take(where.path)
        else:
            self.fail(405, "method not allowed\n")

    def take(self, path):
        session = self.state.sessions[path.split("/")[2]]
        wanted = session.get("header")
        if wanted and self.headers.get(wanted[0]) != wanted[1]:
            self.fail(403, "<Code>SignatureDoesNotMatch</Code>\n")
            return
        data = self.read_body()
        session["parts"][int(path.split("/")[3])] = data
        self.document(200, b"", ETag='"%s"' % hashlib.md5(data).hexdigest())


class Registry(frame.Handler):
    name = "registry"

    def answer(self):
        where = urllib.parse.urlsplit(self.path)
        self.query = dict(urllib.parse.parse_qsl(where.query, keep_blank_values=True))
        for pattern, what in ((r"/token", self.token),
                              (NAME + r"/manifests/([\w.:-]+)", self.manifest),
                              (NAME + r"/blobs/(sha256:[0-9a-f]{64})", self.blob),
                              (NAME + r"/blobs/uploads/", self.upload_new),
                              (NAME + r"/blobs/uploads/(\w+)", self.upload)):
            m = re.fullmatch(pattern, where.path)
            if m:
                what(*m.groups())
                return
        self.fail(404, "404 page not found\n")

    def url(self, path, server=None):
        host = "127.0.0.1:%d" % server.port if server else self.headers["Host"]
        return "%s://%s%s" % (self.scheme, host, path)

    # Who asks

    def may(self, repo):
        """Has the request a token for what it does?  If not, it has got its answer."""
        writes = self.command in ("PUT", "POST", "PATCH") or "/uploads/" in self.path
        if not self.state.keys or not (writes or repo.startswith("private/")):
            return True
        scope = "repository:%s:%s" % (repo, "pull,push" if writes else "pull")
        kind, _, token = self.headers.get("Authorization", "").partition(" ")
        scopes, until = self.state.tokens.get(token, ("", 0))
        if kind == "Bearer" and scope in scopes.split() and until > time.time():
            return True
        self.errors(401, "UNAUTHORIZED", "authentication required", WWW_Authenticate=
                    'Bearer realm="%s",service="ollama.com",scope="%s"' % (self.url("/token"), scope))
        return False

    def token(self):
        why = self.refuses()
        if why:
            self.errors(401, "UNAUTHORIZED", why)
            return
        token = secrets.token_urlsafe(24)
        scopes = urllib.parse.parse_qs(self.path.partition("?")[2])["scope"]
        self.state.tokens[token] = (" ".join(scopes), time.time() + self.state.life)
        self.document(200, {"token": token})

    def refuses(self):
        public, _, signature = self.headers.get("Authorization", "").partition(":")
        if public not in self.state.keys:
            return "unknown key"
        query = self.path.partition("?")[2]
        if query != "&".join(sorted(query.split("&"))):
            return "the query is not sorted"
        if abs(time.time() - int(self.query.get("ts", 0))) > 300:
            return "the time is not now"
        nonce = self.query.get("nonce", "")
        if len(nonce) < 16 or nonce in self.state.nonces:
            return "no fresh nonce"
        self.state.nonces.add(nonce)
        text = "GET,%s,%s" % (self.url(self.path), EMPTY)
        if not ed25519.right(self.state.keys[public], text.encode(), base64.b64decode(signature)):
            return "wrong signature of " + text
        return None

    # What is read

    def manifest(self, repo, tag):
        path = self.state.manifest(repo, tag)
        if self.command == "HEAD":
            self.fail(405, "method not allowed\n")
        elif not self.may(repo):
            pass
        elif self.command == "PUT":
            self.manifest_put(path)
        elif repo.endswith("/needs-macos"):
            self.fail(412, "this model requires macOS")
        elif repo.endswith("/needs-newer"):
            self.fail(412, "The model you're attempting to pull requires a newer version of Ollama.\n"
                           "\nPlease download the latest version at:\n\n\thttps://ollama.com/download\n")
        elif not os.path.exists(path):
            self.errors(404, "MANIFEST_UNKNOWN", "manifest unknown")
        else:
            self.begin(200, [("Content-Type", "text/plain; charset=utf-8"),
                             ("Transfer-Encoding", "chunked")])
            self.put_chunked(open(path, "rb").read())

    def manifest_put(self, path):
        text = self.read_body()
        doc = json.loads(text)
        for layer in doc["layers"] + [doc["config"]]:
            if not os.path.exists(self.state.blob(layer["digest"])):
                self.errors(404, "MANIFEST_BLOB_UNKNOWN", "blob unknown to registry: " +
                            layer["digest"])
                return
        self.state.keep(path, text)
        self.document(201, b"")

    def blob(self, repo, digest):
        if not self.may(repo):
            return
        path = self.state.blob(digest)
        if not os.path.exists(path):
            self.errors(404, "BLOB_UNKNOWN", "blob unknown to registry")
        elif self.command == "HEAD":
            self.document(200, open(path, "rb").read(), "application/octet-stream")
        else:
            self.fail(307, "Temporary Redirect\n", Location=self.cdn_url("/" + digest))

    def cdn_url(self, path):
        path += "?X-Amz-Expires=86400&X-Amz-Signature=" + secrets.token_hex(8)
        self.state.signed[path] = time.time() + 86400
        return self.url(path, self.cdn)

    # What is written

    def upload_new(self, repo):
        if not self.may(repo):
            return
        digest = self.query.get("digest") or self.query.get("mount")
        if digest and os.path.exists(self.state.blob(digest)):
            self.document(201, b"", Location=self.url("/v2/%s/blobs/%s" % (repo, digest)))
            return
        key = secrets.token_hex(8)
        session = self.state.sessions[key] = {"data": bytearray(), "parts": {}, "state": "0"}
        more = {}
        if self.state.uploads == "direct" and self.headers.get("X-Redirect-Uploads") == "2":
            session["header"] = ("X-Amz-Meta-Upload", secrets.token_hex(4))
            more = {"X_Direct_Upload_URL": self.cdn_url("/put/%s/1" % key),
                    "X_Signed_Header_X_Amz_Meta_Upload": session["header"][1]}
        self.document(202, b"", Location=self.session_url(repo, key), **more)

    def session_url(self, repo, key):
        """Each answer names a new one, which alone is good."""
        session = self.state.sessions[key]
        session["state"] = secrets.token_hex(4)
        return self.url("/v2/%s/blobs/uploads/%s?_state=%s" % (repo, key, session["state"]))

    def upload(self, repo, key):
        session = self.state.sessions.get(key)
        if not self.may(repo):
            return
        if session is None or (self.command != "GET" and self.query.get("_state") != session["state"]):
            self.errors(404, "BLOB_UPLOAD_INVALID", "blob upload invalid")
        elif self.command == "GET":
            self.document(204, b"", Location=self.session_url(repo, key),
                          Range="0-%d" % max(len(session["data"]) - 1, 0))
        elif self.command == "PATCH":
            self.upload_part(repo, key, session)
        elif self.command == "PUT":
            self.upload_end(repo, key, session)
        else:
            self.fail(405, "method not allowed\n")

    def upload_part(self, repo, key, session):
        if self.state.uploads == "redirect" and self.headers.get("X-Redirect-Uploads") == "1":
            n = session["next"] = session.get("next", 0) + 1
            self.fail(307, "", Location=self.cdn_url("/put/%s/%d" % (key, n)),
                      Docker_Upload_Location=self.session_url(repo, key))
            return
        asked = re.fullmatch(r"(?:bytes )?(\d+)-(\d+)", self.headers.get("Content-Range", ""))
        if asked and int(asked[1]) != len(session["data"]):
            self.errors(416, "BLOB_UPLOAD_INVALID", "not where the upload is",
                        Range="0-%d" % max(len(session["data"]) - 1, 0))
            return
        for data in self.body():
            session["data"] += data
        self.document(202, b"", Range="0-%d" % max(len(session["data"]) - 1, 0),
                      Docker_Upload_Location=self.session_url(repo, key))

    def upload_end(self, repo, key, session):
        parts = [session["parts"][n] for n in sorted(session["parts"])]
        data = b"".join(parts) or bytes(session["data"]) + self.read_body()
        sums = b"".join(hashlib.md5(p).digest() for p in parts)
        etag = "%s-%d" % (hashlib.md5(sums).hexdigest(), len(parts))
        digest = self.query.get("digest", "")
        if len(parts) > 1 and self.query.get("etag") != etag:
            self.errors(400, "BLOB_UPLOAD_INVALID", "etag is not " + etag)
        elif digest != "sha256:" + hashlib.sha256(data).hexdigest():
            self.errors(400, "DIGEST_INVALID", "provided digest did not match uploaded content")
        else:
            self.state.keep(self.state.blob(digest), data)
            del self.state.sessions[key]
            self.document(201, b"", Location=self.url("/v2/%s/blobs/%s" % (repo, digest)))


def main():
    args = argparse.ArgumentParser()
    args.add_argument("ports")
    args.add_argument("store")
    args.add_argument("--pem")
    args.add_argument("--keys")
    args.add_argument("--token-life", type=float, default=3600)
    args.add_argument("--uploads", choices=("plain", "redirect", "direct"), default="plain")
    a = args.parse_args()
    state = State(a.store, a.keys, a.token_life, a.uploads)
    cdn = frame.serve(Cdn, a.pem, state=state)
    registry = frame.serve(Registry, a.pem, state=state, cdn=cdn)
    frame.announce(a.ports, port=registry.port, cdn=cdn.port)


if __name__ == "__main__":
    main()
