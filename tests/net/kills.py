"""kill -9 in the middle of pulls and pushes.

kills.py N [SEED]: so many kills.  After each no wrong blob can be seen and no manifest without
its blobs; what is run again moves less than 1.1 times what was not there yet, counted by a proxy, and
ends well.
"""
import random
import sys
import time

import bed

N = int(sys.argv[1]) if len(sys.argv) > 1 else 12
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
RATE = 60e6
# what may be on its way when somebody dies: in the program's hands, in the kernel's
SLACK = 512 * 1024


class Kills:
    def __init__(self):
        self.dice = random.Random(SEED)
        self.source = bed.fresh("source")
        self.sizes = [36 << 20, 9000000, 2200000] + [20000 * i for i in range(1, 25)] + [2, 100]
        self.text = bed.make_model(self.source, "model", "v1", self.sizes, SEED)
        self.total = sum(bed.layers_of(self.text).values())
        self.places = [bed.Place(k, RATE) for k in bed.KINDS[0 if N > 20 else 1:]]
        bed.login(self.places)
        for p in self.places:
            p.put(self.source, "model", "v1", "library/model")
        self.kills = self.late = self.moved = self.missing = 0
        self.worst = 0
        self.bad = []

    def wrong(self, what):
        self.bad.append(what)
        print("kill %d: %s" % (self.kills, what), file=sys.stderr, flush=True)

    def killed(self, store, words, place, count):
        """Runs and kills; whether it was killed."""
        child = bed.begin(store, *words, **place.env)
        start = count()
        if self.dice.random() < 0.3:    # when all has come, or nearly
            end = time.monotonic() + 20
            while count() - start < self.left and child.poll() is None and time.monotonic() < end:
                time.sleep(0.002)
            time.sleep(self.dice.random() * 0.1)
        else:
            time.sleep(self.dice.random() * (0.1 + 1.1 * self.left / RATE))
        if bed.kill(child):
            self.kills += 1
            return True
        self.late += 1
        return False

    def pull(self, place):
        """A pull that is killed once or more, and ends well at last."""
        store = bed.fresh("pulled")
        words = "pull", place.name("library/model", "v1"), "model:v1"
        count = place.state.total
        self.left, begun, kills = self.total, count(), self.kills
        for _ in range(self.dice.choice([1, 1, 1, 2, 4])):
            self.killed(store, words, place, count)
            what = bed.judge(store)
            if what:
                self.wrong("pull from %s: %s" % (place.kind, what))
                return
            self.left = self.total - bed.on_disk(store, self.source, self.text)
        before = count()
        rc, out, err = bed.run(store, *words, **place.env)
        what = bed.crashed(rc, err) or bed.judge(store) or bed.has(store, self.text, "model", "v1")
        if what or rc or bed.left(store):
            self.wrong("pull again from %s: %s; %s%s" % (place.kind, what or bed.left(store), out, err))
            return
        self.count("pull from " + place.kind, self.left, count() - before)
        if count() - begun > 1.1 * self.total + SLACK * (self.kills - kills):
            self.wrong("pull from %s: %d bytes in all, for %d" % (place.kind, count() - begun,
                                                                 self.total))

    def push(self, place):
        """The same of a push: what a registry has whole is not sent again."""
        repo = "library/k%d" % self.kills
        words = "push", "model:v1", place.name(repo, "v1")
        self.left = self.total
        for _ in range(self.dice.choice([1, 1, 2])):
            self.killed(self.source, words, place, lambda: place.state.taken)
            text = place.got(repo, "v1")
            what = text is not None and (place.judge(repo, text) or text != self.text)
            if what:
                self.wrong("push to %s: %s" % (place.kind, what))
                return
            self.left = sum(n for d, n in bed.layers_of(self.text).items() if not place.has(repo, d))
        before = place.state.taken
        rc, out, err = bed.run(self.source, *words, **place.env)
        what = bed.crashed(rc, err) or place.got(repo, "v1") != self.text or place.judge(repo, self.text)
        if what or rc:
            self.wrong("push again to %s: %s; %s%s" % (place.kind, what, out, err))
            return
        self.count("push to " + place.kind, self.left, place.state.taken - before)

    def count(self, what, missing, moved):
        self.moved += moved
        self.missing += missing
        if missing > self.total // 4:
            self.worst = max(self.worst, moved / missing)
        if moved > 1.1 * missing + SLACK:
            self.wrong("%s: %d bytes were missing, %d moved" % (what, missing, moved))


def main():
    k = Kills()
    while k.kills < N and k.late < 3 * N + 20 and len(k.bad) < 10:
        place = k.dice.choice(k.places)
        if k.dice.random() < 0.25:
            k.push(place)
        else:
            k.pull(place)
    print("seed %d: %d kills, %d ended before; %d bytes were missing, %d moved (%.3f; worst %.3f)" % (
        SEED, k.kills, k.late, k.missing, k.moved, k.moved / max(k.missing, 1), k.worst))
    if k.bad:
        sys.exit("%d kills were wrong (kills.py N %d)" % (len(k.bad), SEED))


main()
