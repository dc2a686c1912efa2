"""Pulls and pushes through a proxy that breaks things.

faults.py N [SEED [ONE]]: N faults, drawn by the seed; with ONE only that round.  Whatever happens: no
wrong blob can be seen, no manifest without its blobs, nobody else gets a password, no crash, no failure
without a word; what a second try can mend is mended without being asked; and without faults the
next run ends well.
"""
import collections
import sys
import random

import bed

N = int(sys.argv[1]) if len(sys.argv) > 1 else 40
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
ONE = int(sys.argv[3]) if len(sys.argv) > 3 else None

BLOB, MANIFEST = "(GET|HEAD) .*(/blobs/|/)sha256:", "GET .*/manifests/"
UPLOAD = "(POST|PATCH|PUT) .*/blobs/"
# What a second try mends, in answers to what is read ...
MENDED = ["close", "reset", "cut", "cut", "cut", "status", "busy", "wrong", "whole", "nolength",
          "redirect"]
# ... and what may or may not be.
DOUBTFUL = ["garbage", "short", "long", "range", "norange", "shifted", "loop", "downgrade", "location",
            "bomb", "headers", "endless", "huge", "refused", "missing", "digest"]
SENT = ["close", "reset", "deaf", "half", "lost", "status", "busy"]
PLACES = ["../../../../etc/passwd", "file:///etc/passwd", "//127.0.0.1:1/x", "http://", "http://[::1",
          "gopher://127.0.0.1:1/", "https://127.0.0.1:1/", "\x7f\x80", "", "/../../x", "?", "a" * 70000]


def fault(rng, words, match):
    do = rng.choice(words)
    f = {"match": match, "do": do, "skip": rng.choice([0, 0, 1, 2, 5]), "times": rng.choice([1, 1, 2]),
         "at": int(rng.choice([0, 1, 7, 100, 4096, 1e5, 1e6]) * rng.random()) }
    if do == "status":
        f["status"] = rng.choice([500, 502, 503, 504])
        f["json"] = rng.random() < 0.5
    elif do == "busy":
        f.update(do="status", status=429, after=rng.choice([0, 1]))
    elif do in ("refused", "missing"):
        f.update(do="status", status=rng.choice([400, 403, 404, 405, 410, 416, 451])
                 if do == "missing" else 401)
    elif do in ("short", "long"):
        f["by"] = rng.choice([1, 17, 5000])
    elif do == "location":
        f["to"] = rng.choice(PLACES)
    elif do == "redirect":
        f["times"] = rng.choice([1, 4])
    return f


def draw(rng, push):
    """Some faults, and whether the run must end well all the same."""
    if push:
        return [fault(rng, SENT, rng.choice([UPLOAD, UPLOAD, "HEAD ", "PUT .*/manifests/"]))
                for _ in range(rng.choice([1, 1, 2]))], True
    if N > 200 and rng.random() < 0.01:     # each costs half a minute
        return [{"match": BLOB, "do": rng.choice(["stall", "slow"]), "times": 1, "at": 1000}], True
    words, must = (MENDED, True) if rng.random() < 0.6 else (DOUBTFUL, False)
    faults = [fault(rng, words, rng.choice([BLOB, BLOB, BLOB, MANIFEST]))
              for _ in range(rng.choice([1, 1, 2]))]
    # bytes that are wrong twice are an error, and a manifest has no digest of its own to be wrong
    if any(f["do"] == "wrong" and (f["times"] > 1 or f["match"] == MANIFEST)
           for f in faults) or len([f for f in faults if f["do"] == "wrong"]) > 1:
        must = False
    return faults, must


class Rounds:
    def __init__(self):
        self.source = bed.fresh("source")
        sizes = [3000000, 1200000, 300000] + [4000 * i for i in range(1, 12)] + [2, 100]
        self.texts = {"small": bed.make_model(self.source, "model", "small", sizes, SEED)}
        if N > 100:             # one that comes in parts
            sizes.append(36 << 20)
            self.texts["parts"] = bed.make_model(self.source, "model", "parts", sizes, SEED)
        self.places = [bed.Place(k) for k in bed.KINDS]
        bed.login(self.places)
        for p in self.places:
            for tag in self.texts:
                p.put(self.source, "model", tag, "library/model")
        self.told = collections.Counter()
        self.hits = collections.Counter()
        self.bad = []

    def wrong(self, n, what, faults, said):
        self.bad.append("round %d: %s\n  faults: %s\n  said: %s" % (n, what, faults, said[-600:]))
        print(self.bad[-1], file=sys.stderr, flush=True)

    def one(self, n):
        """One round; the number of faults that happened."""
        rng = random.Random("%d:%d" % (SEED, n))
        place = rng.choice(self.places)
        push = rng.random() < 0.3
        faults, must = draw(rng, push)
        self.tag = "parts" if "parts" in self.texts and rng.random() < 0.15 else "small"
        self.text = self.texts[self.tag]
        before = len(place.state.hit)
        place.state.plan(faults)
        (self.push if push else self.pull)(n, place, faults, must)
        place.state.plan([])
        if place.state.leaks:
            self.wrong(n, "a password went elsewhere", faults, str(place.state.leaks))
            place.state.leaks = []
        hit = place.state.hit[before:]
        self.hits.update(hit)
        return len(hit)

    def pull(self, n, place, faults, must):
        store = bed.fresh("pulled")
        words = "pull", place.name("library/model", self.tag), "model:" + self.tag
        for again in (False, True):
            rc, out, err = bed.run(store, *words, **place.env)
            what = bed.crashed(rc, err) or bed.judge(store)
            if not what and rc == 0:
                what = bed.has(store, self.text, "model", self.tag)
            if not what and rc and (must or again):
                what = "exit status %d %s" % (rc, "without faults" if again else
                                              "where a second try would do")
            if what:
                self.wrong(n, what, faults, out + err)
                return
            self.told["pull", place.kind, rc] += not again
            place.state.plan([])

    def push(self, n, place, faults, must):
        repo = "library/r%d" % n
        words = "push", "model:" + self.tag, place.name(repo, "v1")
        for again in (False, True):
            rc, out, err = bed.run(self.source, *words, **place.env)
            what = bed.crashed(rc, err)
            text = place.got(repo, "v1")
            if not what and text is not None:
                what = place.judge(repo, text) or (text != self.text and "another manifest")
            if not what and rc == 0 and text is None:
                what = "no manifest there"
            if not what and rc and (must or again):
                what = "exit status %d %s" % (rc, "without faults" if again else
                                              "where a second try would do")
            if what:
                self.wrong(n, what, faults, out + err)
                return
            self.told["push", place.kind, rc] += not again
            place.state.plan([])


def main():
    rounds = Rounds()
    n = faults = 0
    if ONE is not None:
        rounds.one(ONE)
    while ONE is None and faults < N and n < 3 * N:
        faults += rounds.one(n)
        n += 1
    print("seed %d: %d rounds, %d faults: %s" % (SEED, n, faults, dict(rounds.hits)))
    for key, count in sorted(rounds.told.items()):
        print("  %s %s: exit status %s: %d" % (*key, count))
    if rounds.bad:
        sys.exit("%d of %d rounds were wrong (faults.py N %d ROUND)" % (len(rounds.bad), n, SEED))


main()
