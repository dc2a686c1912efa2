"""hub.py PORTS ROOT [--pem PEM] [--page N] - a Hugging Face hub, and the host its files come from.

ROOT/ORG/NAME/COMMIT holds the files of a revision, ROOT/ORG/NAME/hub.json says the rest and is read
for each request:
	refs	{"main": COMMIT}
	lfs	files of so many bytes and more are LFS's, and come from the other host (default 1000)
	token	who asks for the repository must show it; with "gated": for its bytes alone
	names	{"real": "called so in the list"}
	wrong	[names]: a byte of them is another
	short	{"name": n}: those end after n bytes, as if that were all
	whole	true: ranges are not known
	holes	true: files of LFS's are large holes; they are called by what is not their digest
	uses	addresses of the other host hold for so many requests
	hangs	true: who asks for one that does not hold any more gets no answer
	next	where the list goes on, instead of here
	rate	bytes a second of each answer's
	plain	true: the other host is named with http://
	fail	{"pattern": [status, times]}: of paths
Ports: port (the hub), cdn.  The other host refuses requests that show a token, and says so in its
lines of the log (authorization).
"""
import argparse
import hashlib
import json
import os
import re
import sys
import threading
import time
import urllib.parse

import frame

failed = {}
used = {}
lock = threading.Lock()


def git_name(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Repository:
    def __init__(self, root, repo):
        self.dir = os.path.join(root, repo)
        with open(os.path.join(self.dir, "hub.json")) as f:
            self.says = json.load(f)

    def files(self, commit):
        top = os.path.join(self.dir, commit)
        for folder, _, names in sorted(os.walk(top)):
            for name in sorted(names):
                path = os.path.join(folder, name)
                yield os.path.relpath(path, top), path

    def hole(self, name, path):
        digest = hashlib.sha256(name.encode()).hexdigest()
        size = os.path.getsize(path)
        return {"type": "file", "oid": git_name(b"a pointer"), "size": size, "path": name,
                "lfs": {"oid": digest, "size": size, "pointerSize": 134}, "xetHash": digest}

    def entry(self, name, path):
        if self.says.get("holes") and os.path.getsize(path) >= 1 << 20:
            return self.hole(name, path)
        with open(path, "rb") as f:
            data = f.read()
        out = {"type": "file", "oid": git_name(data), "size": len(data),
               "path": self.says.get("names", {}).get(name, name)}
        if len(data) >= self.says.get("lfs", 1000):
            out["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data),
                          "pointerSize": 134}
            out["oid"] = git_name(b"a pointer")
            out["xetHash"] = out["lfs"]["oid"]
        return out

    def list(self, commit):
        folders = {os.path.dirname(n) for n, _ in self.files(commit)} - {""}
        return [{"type": "directory", "oid": "0" * 40, "size": 0, "path": n} for n in sorted(folders)
                ] + [self.entry(n, p) for n, p in self.files(commit)]


class Both(frame.Handler):
    root = None
    rate = None

    def put(self, data):
        step = max(self.rate // 20, 1) if self.rate else len(data) or 1
        for at in range(0, len(data), step):
            super().put(data[at:at + step])
            if self.rate:
                time.sleep(0.05)

    def repository(self, repo):
        try:
            return Repository(self.root, repo)
        except OSError:
            return None

    def may_fail(self, repository):
        for pattern, (status, times) in repository.says.get("fail", {}).items():
            with lock:
                n = failed.get(pattern, 0)
                if re.search(pattern, self.path) and n < times:
                    failed[pattern] = n + 1
                    self.fail(status, "busy: try later\n", Retry_After="0")
                    return True
        return False

    def bytes_of(self, repository, path, name, **headers):
        says = repository.says
        self.rate = says.get("rate")
        short = says.get("short", {}).get(name)
        if name not in says.get("wrong", []) and short is None:
            self.file(path, ranges=not says.get("whole"), **headers)
            return
        with open(path, "rb") as f:
            data = bytearray(f.read())
        if short is None:
            data[len(data) // 2] ^= 1
        copy = path + ".tmp-%d" % threading.get_ident()
        copy = os.path.join(os.path.dirname(repository.dir), os.path.basename(copy))
        with open(copy, "wb") as f:
            f.write(data if short is None else data[:short])
        try:
            self.file(copy, ranges=not says.get("whole"), **headers)
        finally:
            os.unlink(copy)


class Hub(Both):
    name = "hub"
    cdn = page = None

    def answer(self):
        url = urllib.parse.urlsplit(self.path)
        path = urllib.parse.unquote(url.path)
        m = re.fullmatch(r"/api/models/([^/]+/[^/]+)/(revision|tree)/(.+)", path)
        if m:
            # what a revision is called has its slashes quoted
            self.api(m[1], m[2], urllib.parse.unquote(url.path.split("/")[6]),
                     dict(urllib.parse.parse_qsl(url.query)))
            return
        m = re.fullmatch(r"/api/models/([^/]+/[^/]+)/refs", path)
        if m:
            self.refs(m[1])
            return
        m = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        if m:
            self.resolve(m[1], m[2], m[3])
        else:
            self.refuse(404, "EntryNotFound", "Not found")

    def refuse(self, status, code, message):
        self.document(status, {"error": message}, X_Error_Code=code, X_Error_Message=message)

    def shown(self, r):
        return self.headers.get("Authorization") == "Bearer " + r.says.get("token", "")

    def known(self, repo):
        r = self.repository(repo)
        if not r or ("token" in r.says and not r.says.get("gated") and not self.shown(r)):
            self.refuse(401, "RepoNotFound", "Repository not found")
            return None
        return None if self.may_fail(r) else r

    def api(self, repo, what, revision, query):
        r = self.known(repo)
        if not r:
            return
        commit = r.says["refs"].get(revision, revision)
        if not os.path.isdir(os.path.join(r.dir, commit)) or "/" in commit:
            self.refuse(404, "RevisionNotFound", "Invalid rev id: " + revision)
        elif what == "revision":
            self.document(200, {"id": repo, "sha": commit, "private": False, "siblings": []})
        else:
            self.list(r, repo, commit, int(query.get("cursor", 0)))

    def refs(self, repo):
        r = self.known(repo)
        if r:
            names = [{"name": n, "ref": "refs/heads/" + n, "targetCommit": c}
                     for n, c in r.says["refs"].items() if "/" not in n]
            self.document(200, {"branches": names[:1], "tags": names[1:], "converts": []})

    def list(self, r, repo, commit, at):
        entries = r.list(commit)
        link = None
        if at + self.page < len(entries):
            link = "%s://127.0.0.1:%d/api/models/%s/tree/%s?recursive=1&cursor=%d" % (
                self.scheme, self.port, repo, commit, at + self.page)
            link = '<%s>; rel="next"' % r.says.get("next", link)
        self.document(200, entries[at:at + self.page], Link=link)

    def resolve(self, repo, revision, name):
        r = self.known(repo)
        if not r:
            return
        if r.says.get("gated") and not self.shown(r):
            code = 403 if self.headers.get("Authorization") else 401
            self.refuse(code, "GatedRepo", "Access to model %s is restricted." % repo)
            return
        commit = r.says["refs"].get(revision, revision)
        path = os.path.join(r.dir, commit, name)
        if not os.path.isfile(path):
            self.refuse(404, "EntryNotFound", "Entry not found")
            return
        e = r.entry(name, path)
        headers = {"X_Repo_Commit": commit, "ETag": '"%s"' % e["oid"]}
        if "lfs" not in e:
            self.bytes_of(r, path, name, **headers)
            return
        with lock:
            used["last"] = used.get("last", 0) + 1
            ticket = used["last"]
        where = "%s://127.0.0.1:%d/%s/%s/%s?Signature=%d" % (
            "http" if r.says.get("plain") else self.scheme, self.cdn, repo, commit, name, ticket)
        self.drain()
        self.begin(302, [("Location", where), ("Content-Length", 0),
                         ("X-Linked-Size", e["size"]), ("X-Linked-ETag", '"%s"' % e["lfs"]["oid"]),
                         ("X-Repo-Commit", commit)])


class Cdn(Both):
    name = "cdn"

    def answer(self):
        url = urllib.parse.urlsplit(self.path)
        org, repo, commit, name = urllib.parse.unquote(url.path)[1:].split("/", 3)
        r = self.repository(org + "/" + repo)
        if "Authorization" in self.headers:
            self.note(authorization=self.headers["Authorization"])
            self.fail(400, "InvalidArgument: Only one auth mechanism allowed\n")
            return
        with lock:
            used[url.query] = used.get(url.query, 0) + 1
            over = used[url.query] > r.says.get("uses", 1 << 30)
        if over and r.says.get("hangs"):
            raise frame.Gone
        if over:
            self.fail(403, "<Error><Code>AccessDenied</Code></Error>")
        elif not self.may_fail(r):
            self.bytes_of(r, os.path.join(r.dir, commit, name), name)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("ports")
    args.add_argument("root")
    args.add_argument("--pem")
    args.add_argument("--page", type=int, default=1000)
    args = args.parse_args()
    cdn = frame.serve(Cdn, pem=args.pem, root=args.root)
    hub = frame.serve(Hub, pem=args.pem, root=args.root, cdn=cdn.port, page=args.page)
    frame.announce(args.ports, port=hub.port, cdn=cdn.port)


sys.exit(main())
