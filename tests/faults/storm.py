#!/usr/bin/env python3
"""Two processes prune, import, remove, rename, convert and undo in one store, a third verifies
all the time.  No blob that a manifest names is ever lost, nothing is called damaged that
is not, and what nobody touched is as it was.

storm.py TBTUI [SECONDS] [SEED]

What is in the store is judged here, by reading manifests and hashing blobs, while nobody may
take anything away: under the lock that writers share.  prune runs with a clock of two hours later,
so that no blob is spared for being young: only locks and what manifests name save it.  Somebody else
moves a model out of the store and back all the time, as tbtui does: alone in the store.
"""
import collections, fcntl, hashlib, json, os, random, shutil, subprocess, sys, tempfile
import threading, time

TBTUI = os.path.abspath(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 5
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
WORDS = ["import", "import", "quantize", "rm", "rm", "prune", "prune", "mv", "cp", "undo", "undo"]
LIBRARY = "manifests/registry.ollama.ai/library"
NAMES = ["storm:a", "storm:b", "storm:c", "wind:a", "wind:b"]
T = tempfile.mkdtemp(prefix="tbtui-storm-", dir=os.environ.get("TMPDIR"))
ENV = dict(os.environ, HOME=T + "/home", XDG_DATA_HOME=T + "/home/data", LC_ALL="C.UTF-8",
           OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
for name in ("TBTUI_DB", "TBTUI_NOW", "TBTUI_CPU", "OLLAMA_MODELS", "HF_HOME", "XDG_CONFIG_HOME",
             "XDG_STATE_HOME"):
    ENV.pop(name, None)
STORE = T + "/store"
wrong, told, ran = [], collections.Counter(), collections.Counter()
end = threading.Event()


def bad(text):
    wrong.append(text)
    end.set()


def tbtui(*words, db=None, later=0):
    """Exit status, standard output and error."""
    env = dict(ENV, TBTUI_NOW=str(int(time.time()) + later)) if later else ENV
    argv = [TBTUI, "-t", "1", "-s", STORE, "-d", "%s/db-%s/index.db" % (T, db or "x"), *words]
    try:
        p = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                           timeout=max(60, 4 * SECONDS))
    except subprocess.TimeoutExpired:
        bad("hangs: %s" % " ".join(words))
        return None, "", ""
    out, err = p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace")
    if p.returncode < 0 or p.returncode > 100:
        bad("%s: ended by %d\n%s" % (" ".join(words), p.returncode, err))
    elif p.returncode and not (err + out).strip():
        bad("%s: exit status %d without a word" % (" ".join(words), p.returncode))
    return p.returncode, out, err


def need(*words):
    rc, out, err = tbtui(*words)
    if rc:
        sys.exit("%s: exit status %s\n%s%s" % (" ".join(words), rc, out, err))


# ---- what is there, read by nobody but us ----

def manifests():
    """Path and document of each."""
    out = {}
    for folder, _, files in os.walk(STORE + "/manifests"):
        for f in files:
            if f.startswith("."):
                continue
            path = os.path.join(folder, f)
            with open(path) as text:
                out[os.path.relpath(path, STORE)] = json.load(text)
    return out


def used(wanted=lambda path: True):
    """Names of all blobs that manifests need."""
    return {x["digest"].replace(":", "-") for path, m in manifests().items() if wanted(path)
            for x in m["layers"] + [m["config"]]}


hashed = {}


def digest_of(path):
    """None: it is not there.  What was hashed and is the same inode is not hashed again."""
    try:
        with open(path, "rb") as f:
            st = os.fstat(f.fileno())
            key = st.st_ino, st.st_size, st.st_mtime_ns
            if key not in hashed:
                hashed[key] = hashlib.sha256(f.read()).hexdigest()
            return hashed[key]
    except FileNotFoundError:
        return None


def judge():
    """What is wrong with the store, or None."""
    fd = os.open(STORE + "/blobs", os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH)
        for path, m in manifests().items():
            for layer in m["layers"] + [m["config"]]:
                name = layer["digest"].replace(":", "-")
                got = digest_of("%s/blobs/%s" % (STORE, name))
                if got is None:
                    return "%s names %s, which is not there" % (path, name)
                if "sha256-" + got != name:
                    return "%s names %s, which has other bytes" % (path, name)
        return None
    finally:
        os.close(fd)


# ---- those who do something ----

def one_step(me, dice, has):
    """Names are taken from few, so that the two are often after the same."""
    a, b = dice.sample(NAMES, 2)
    word = dice.choice([w for w in WORDS if w in has])
    words = {
        "import": ["import", T + "/src", a],
        "quantize": ["quantize", "demo:bf16", a, "-q", dice.choice(["int4", "int8"]), "-y"]
                    + dice.choice([[], ["--replace"]]),
        "rm": ["rm", "-y", a], "prune": ["prune", "-y"],
        "mv": ["mv", "-y", a, b], "cp": ["cp", "-y", a, b], "undo": ["undo", "-y"],
    }[word]
    if word == "undo":      # any of those that can be undone
        rc, out, _ = tbtui("undo", "--list", "--json", db=me)
        done = [op["number"] for op in json.loads(out)["operations"] if op["state"] == "done"] \
            if rc == 0 else []
        words += [str(n) for n in dice.sample(done, min(1, len(done)))]
    rc, _, err = tbtui(*words, db=me, later=7200 if word == "prune" else 0)
    ran[word, rc] += 1
    if rc:
        told[word, err.strip().splitlines()[-1].replace(T, "")[:110] if err.strip() else ""] += 1


def actor(me, has):
    dice = random.Random("%d %s" % (SEED, me))
    while not end.is_set():
        one_step(me, dice, has)


def mover():
    """Models with all that they alone need, away and back."""
    dice, name, away = random.Random(SEED), LIBRARY + "/demo-moved", T + "/away"
    for folder in (away, os.path.dirname(STORE + "/" + name)):
        os.makedirs(folder, exist_ok=True)
    while True:
        last = end.wait(dice.random() / 20)
        fd = os.open(STORE + "/blobs", os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(fd, fcntl.LOCK_EX)
        back = os.listdir(away)
        if back:        # manifests come last, and go first; prune may have taken their folder
            os.makedirs(STORE + "/" + name, exist_ok=True)
            for f in sorted(back, key=lambda f: not f.startswith("sha256-")):
                to = "blobs" if f.startswith("sha256-") else name
                os.rename(away + "/" + f, "%s/%s/%s" % (STORE, to, f))
        elif not last:
            mine = used(lambda path: path.startswith(name + "/"))
            others = used(lambda path: not path.startswith(name + "/"))
            for f in os.listdir(STORE + "/" + name):
                os.rename("%s/%s/%s" % (STORE, name, f), away + "/" + f)
            for f in mine - others:
                os.rename(STORE + "/blobs/" + f, away + "/" + f)
        os.close(fd)
        ran["moved", 0] += 1
        if last:
            return


def verifier():
    while not end.is_set():
        rc, out, err = tbtui("verify", "--json", db="v")
        ran["verify", rc] += 1
        try:
            alarms = [f for f in json.loads(out)["findings"] if f["severity"] != "note"]
        except (ValueError, KeyError):
            bad("verify: exit status %s, no report:\n%s" % (rc, err))
            return
        if alarms:
            bad("a false alarm: %s" % json.dumps(alarms[:3], indent=1))


def judges():
    while not end.wait(0.05):
        ran["judged", 0] += 1
        text = judge()
        if text:
            bad(text)


def guarded(fn, *args):
    try:
        fn(*args)
    except Exception as e:  # a thread must not die in silence
        bad("%s: %r" % (fn.__name__, e))


def kept():
    """Bytes of the models that nobody touches."""
    out = {}
    for path, m in manifests().items():
        if "/demo/" in path or "/demo-moved/" in path:
            out[path] = json.dumps(m)
            for layer in m["layers"] + [m["config"]]:
                name = "blobs/" + layer["digest"].replace(":", "-")
                with open(STORE + "/" + name, "rb") as f:
                    out[name] = hashlib.sha256(f.read()).hexdigest()
    return out


def afterwards(before, has):
    """Nobody is there any more: all of it is judged, then what is not needed goes, all of it."""
    hashed.clear()
    if judge():
        bad("afterwards: " + judge())
    rc, out, err = tbtui("verify")
    if rc:
        bad("afterwards verify says:\n" + out + err)
    if "prune" not in has:
        return
    for words in (["prune", "-y"], ["undo", "--empty", "-y"]):
        rc, out, err = tbtui(*words, later=7200)
        if rc not in (0, 1):
            bad("%s afterwards: exit status %s\n%s%s" % (" ".join(words), rc, out, err))
    more = {f for f in os.listdir(STORE + "/blobs") if not f.startswith(".")} - used()
    if more:
        bad("left when all was pruned: %s" % sorted(more)[:3])
    held = [f for d, _, files in os.walk(STORE + "/.tbtui") for f in files if "sha256-" in f]
    if held:
        bad("left when the quarantine was emptied: %s" % held[:3])
    if judge() or kept() != before:
        bad("a model that nobody touched is not what it was; %s" % judge())


def main():
    rc, out, err = tbtui("--help")
    has = [w for w in WORDS if "\n  %s " % w in out]
    need("demo", "--random", STORE)
    for name in os.listdir("%s/%s" % (STORE, LIBRARY)):
        if name != "demo":      # one of the others is damaged, as a show
            shutil.rmtree("%s/%s/%s" % (STORE, LIBRARY, name))
    for blob in set(os.listdir(STORE + "/blobs")) - used():
        os.unlink("%s/blobs/%s" % (STORE, blob))
    need("quantize", "demo:bf16", T + "/src", "-q", "keep")
    os.mkdir("%s/%s/demo-moved" % (STORE, LIBRARY))
    for i in range(40):     # nobody else makes blobs like these
        shutil.copy("%s/%s/demo/mxfp8" % (STORE, LIBRARY),
                    "%s/%s/demo-moved/v%d" % (STORE, LIBRARY, i))
    os.unlink("%s/%s/demo/mxfp8" % (STORE, LIBRARY))
    before = kept()
    threads = [threading.Thread(target=guarded, args=a) for a in
               ((actor, "1", has), (actor, "2", has), (mover,), (verifier,), (judges,))]
    for t in threads:
        t.start()
    end.wait(SECONDS)
    end.set()
    for t in threads:
        t.join()
    if not wrong:
        guarded(afterwards, before, has)
    print("seed %d, %.0f s: %s" % (SEED, SECONDS, ", ".join(
        "%s%s %d" % (w, " (%s)" % rc if rc else "", n) for (w, rc), n in sorted(
            ran.items(), key=str))))
    for (word, text), n in told.most_common(12):
        print("  %4d  %s: %s" % (n, word, text))
    for text in wrong:
        print("WRONG: " + text, file=sys.stderr)
    if not wrong and not all(ran[w, 0] for w in has + ["verify", "judged"]):
        print("note: too short for all of them to succeed once")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        status = main()
    finally:
        if wrong and os.environ.get("STORM_KEEP"):
            print("kept: " + T)
        else:
            shutil.rmtree(T, ignore_errors=True)
    sys.exit(status)
