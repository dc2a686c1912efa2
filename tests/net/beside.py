"""What happens to a pull from others on the same machine: another pull of the same, prune, rm and
verify meanwhile, a disk that gets full.

beside.py [PART]: T/small is a small file system of its own, if it is one (tests/net/beside.sh).
"""
import os
import re
import sys
import time

import bed

RATE, SLOW = 30e6, 8e6
DAMAGE = r"(?m)^error +(?!incomplete|\s)"    # no model that runs, only bytes
RACE = 60 * 60 * 24 * 30        # so much later, by its clock, prune is run: nothing is too young


class Beside:
    def __init__(self):
        self.source = bed.fresh("source")
        self.sizes = [5000000, 2500000] + [30000 * i for i in range(1, 15)]
        self.text = bed.make_model(self.source, "model", "v1", self.sizes, 1)
        self.total = sum(bed.layers_of(self.text).values())
        # shares all but its last two
        self.other = bed.make_model(self.source, "model", "v2", self.sizes + [40000, 50000], 1)
        self.place = bed.Place("stock", RATE)
        for tag in ("v1", "v2"):
            self.place.put(self.source, "model", tag, "library/model")
        self.bad = 0

    def wrong(self, part, what, *said):
        self.bad += 1
        print("%s: %s\n%s" % (part, what, "\n".join(s[-1500:] for s in said)), file=sys.stderr, flush=True)

    def words(self, tag="v1"):
        return "pull", self.place.name("library/model", tag), "model:" + tag

    def moved_of(self, do):
        before = self.place.state.total()
        do()
        return self.place.state.total() - before

    def said(self, store):
        path = bed.beside(store, ".said")
        return open(path, errors="replace").read() if os.path.exists(path) else ""

    def pulled(self, part, store, *tags):
        what = bed.judge(store)
        for tag in tags:
            what = what or bed.has(store, self.text if tag == "v1" else self.other, "model", tag)
        if [f for f in bed.left(store) if "/list-" not in f]:
            what = what or "left: %s" % bed.left(store)
        if what:
            self.wrong(part, what, self.said(store))

    def until(self, n, child=None):
        """More than n bytes have come."""
        start, end = self.place.state.total(), time.monotonic() + 20
        while self.place.state.total() - start < n and time.monotonic() < end:
            if child and child.poll() is not None:
                break
            time.sleep(0.005)

    def same(self):
        """Two of the same name, at once."""
        store = bed.fresh("same")

        def both():
            children = [bed.begin(store, *self.words()) for _ in range(2)]
            if [c.wait() for c in children] != [0, 0]:
                self.wrong("same", "not both ended well", self.said(store))
        moved = self.moved_of(both)
        self.pulled("same", store, "v1")
        if moved > 1.1 * self.total:
            self.wrong("same", "%d bytes came, for %d" % (moved, self.total))

    def shared(self):
        """Two models that share blobs; the first is killed, the second goes on with what it had."""
        store = bed.fresh("shared")
        total = sum(bed.layers_of(self.other).values())

        def both():
            first = bed.begin(store, *self.words())
            self.until(self.total // 4, first)
            second = bed.begin(store, *self.words("v2"))
            self.until(self.total // 4, second)
            bed.kill(first)
            if second.wait():
                self.wrong("shared", "the second failed", self.said(store))
        moved = self.moved_of(both)
        if moved > 1.1 * total:
            self.wrong("shared", "%d bytes came, for %d" % (moved, total))
        rc, out, err = bed.run(store, *self.words())
        if rc:
            self.wrong("shared", "the first again: %d" % rc, out, err)
        self.pulled("shared", store, "v1", "v2")

    def meanwhile(self):
        """prune, verify and rm of another model while bytes come, and when they get their names."""
        store = bed.fresh("meanwhile")
        bed.make_model(store, "victim", "v1", [1000, 2000], 7)
        self.place.state.rate = SLOW
        child = bed.begin(store, *self.words())
        later = str(int(time.time()) + RACE)
        n = 0
        while child.poll() is None:
            n += 1
            for words, env in ((("prune", "--yes"), {"TBTUI_NOW": later}), (("verify", "--quiet"), {}),
                               (("rm", "victim:v1", "--yes"), {}), (("undo",), {})):
                rc, out, err = bed.run(store, *words, **env)
                why = bed.crashed(rc, out + err)
                if why or re.search(DAMAGE, out + err):
                    self.wrong("meanwhile", "%s: %s" % (words, why), out, err)
                    bed.kill(child)
                    return
        self.place.state.rate = RATE
        if child.returncode:
            self.wrong("meanwhile", "exit status %d" % child.returncode, self.said(store))
        if n < 2:
            self.wrong("meanwhile", "it ended too early to be disturbed")
        what = bed.judge(store) or bed.has(store, self.text, "model", "v1")
        if what:
            self.wrong("meanwhile", what, self.said(store))

    def pruned(self):
        """What is left of a killed pull is found by prune when it is old, and the pull begins anew."""
        store = bed.fresh("pruned")
        child = bed.begin(store, *self.words())
        self.until(self.total // 2, child)
        bed.kill(child)
        if not bed.left(store):
            self.wrong("pruned", "nothing is left of it")
        bed.run(store, "prune", "--yes")
        if not bed.left(store):
            self.wrong("pruned", "prune takes what is young")
        rc, out, err = bed.run(store, "prune", "--yes", TBTUI_NOW=str(int(time.time()) + RACE))
        if rc or bed.left(store):
            self.wrong("pruned", "prune leaves %s" % bed.left(store), out, err)
        rc, out, err = bed.run(store, *self.words())
        if rc:
            self.wrong("pruned", "exit status %d" % rc, out, err)
        self.pulled("pruned", store, "v1")

    def small(self):
        """A disk with too little room, and one that gets full while bytes come."""
        disk = bed.T + "/small"
        if not os.path.ismount(disk):
            print("no small disk: part left out", file=sys.stderr)
            return
        store = bed.fresh("small/store")
        self.fill(self.total // 2)
        moved = self.moved_of(lambda: self.full(store, "before"))
        if moved > self.total // 4:
            self.wrong("small", "%d bytes came although there is no room" % moved)
        os.truncate(disk + "/filler", 0)
        child = bed.begin(store, *self.words())
        self.until(self.total // 3, child)
        self.fill(200000)
        rc = child.wait()
        if rc == 0 or bed.crashed(rc, self.said(store)) or not re.search(
                "room|free|full", self.said(store)):
            self.wrong("small", "exit status %d of a full disk" % rc, self.said(store))
        what = bed.judge(store)
        if what or bed.has(store, self.text, "model", "v1") != "no manifest":
            self.wrong("small", what or "there is a manifest")
        self.full(store, "again")
        there = bed.on_disk(store, self.source, self.text)
        os.truncate(disk + "/filler", 0)
        moved = self.moved_of(lambda: self.well(store))
        if moved > 1.1 * (self.total - there) + 300000:
            self.wrong("small", "%d bytes came, %d were missing" % (moved, self.total - there))
        self.pulled("small", store, "v1")
        self.index_full(disk)

    def fill(self, n):
        """Leaves so many bytes of the small disk."""
        with open(bed.T + "/small/filler", "wb") as f:
            for _ in range(50):             # somebody may write at the same time
                fs = os.statvfs(f.fileno())
                try:
                    os.posix_fallocate(f.fileno(), 0, max(fs.f_bavail * fs.f_bsize - n, 1))
                    return
                except OSError:
                    n += 100000

    def index_full(self, disk):
        """The index has no room; that is not the model's fault."""
        store = bed.fresh("indexless")
        self.fill(4096)
        rc, out, err = bed.run(store, "-d", disk + "/index.db", *self.words())
        why = bed.crashed(rc, err) or bed.judge(store)
        if why:
            self.wrong("small", why, out, err)
        os.truncate(disk + "/filler", 0)

    def full(self, store, when):
        rc, out, err = bed.run(store, *self.words())
        if rc == 0 or bed.crashed(rc, err) or not re.search("room|free|full", err):
            self.wrong("small", "%s: exit status %s" % (when, rc), out, err)

    def well(self, store):
        rc, out, err = bed.run(store, *self.words())
        if rc:
            self.wrong("small", "exit status %d with room" % rc, out, err)

    def damaged(self):
        """What is there already is not believed: a flipped byte, a short blob, a missing one."""
        store = bed.fresh("damaged")
        self.well(store)
        big = max(os.listdir(store + "/blobs"), key=lambda f: os.path.getsize(store + "/blobs/" + f))
        path = "%s/blobs/%s" % (store, big)
        st = os.stat(path)
        os.chmod(path, 0o644)
        with open(path, "r+b") as f:
            f.seek(100000)
            f.write(b"wrong")
        os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))
        small = min(os.listdir(store + "/blobs"), key=lambda f: os.path.getsize(store + "/blobs/" + f))
        os.unlink("%s/blobs/%s" % (store, small))
        db = store + ".fresh"

        def again():
            rc, out, err = bed.run(store, "-d", db, *self.words())
            if rc:
                self.wrong("damaged", "exit status %d" % rc, out, err)
        moved = self.moved_of(again)
        self.pulled("damaged", store, "v1")
        if moved > 1.1 * (st.st_size + 10000):
            self.wrong("damaged", "%d bytes came for one blob" % moved)


def main():
    b = Beside()
    for part in sys.argv[1:] or ("same", "shared", "meanwhile", "pruned", "small", "damaged"):
        getattr(b, part)()
    if b.bad:
        sys.exit("%d things went wrong" % b.bad)


main()
