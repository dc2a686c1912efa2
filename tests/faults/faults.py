#!/usr/bin/env python3
"""Every call that can fail, failing; kills at random moments; writers beside one another.

An operation runs once to count its calls, then again and again with one of them failing.
After each run the result is whole (exit status 0), or there is a message, and everything is
as before or as after; what is left besides is listed by scan or verify.

faults.py TBTUI SHIM [long] [calls|kills|moments|pairs|FUNCTION|OPERATION|every=N|kills=N]...

every=N: in the long form, each N-th allocation (there are 100,000), and each N/10-th open and
readdir.  moments: kills by time alone; kills=N: so many of them over all operations.
FAULTS_SEED makes the moments the same again.
"""
import collections, concurrent.futures, errno, hashlib, json, os, random, re, shutil
import signal, struct, subprocess, sys, tempfile, time

TBTUI, SHIM = map(os.path.abspath, sys.argv[1:3])
WORDS = sys.argv[3:]
LONG = "long" in WORDS
PARTS = [w for w in WORDS if w in ("calls", "kills", "moments", "pairs")] or \
    ["calls", "kills", "moments", "pairs"]
NAMES = ["open", "pwrite", "write", "fsync", "rename", "linkat", "mkdir", "readdir", "unlink",
         "rmdir", "ftruncate", "ioctl", "malloc"]
FUNCTIONS = [w for w in WORDS if w in NAMES] or NAMES
EVERY = max([1] + [int(w[6:]) for w in WORDS if w.startswith("every=")])
MOMENTS = sum(int(w[6:]) for w in WORDS if w.startswith("kills="))
SHORT = 0               # an "errno" of the shim: fewer bytes are written than asked for
CODES = {
    "open": [errno.EIO, errno.EMFILE], "pwrite": [errno.ENOSPC, SHORT],
    "write": [errno.ENOSPC, SHORT], "fsync": [errno.EIO, errno.ENOSYS],
    "rename": [errno.EIO, errno.EINVAL], "linkat": [errno.EIO, errno.EPERM],
    "mkdir": [errno.ENOSPC], "readdir": [errno.EIO], "malloc": [errno.ENOMEM],
    "unlink": [errno.EIO, errno.EACCES], "rmdir": [errno.EIO], "ftruncate": [errno.EIO],
    "ioctl": [errno.EIO],
}
# What stays as it is: a full disk, no memory, a file system without fsync.
STAYS = {"pwrite": [errno.ENOSPC], "malloc": [errno.ENOMEM], "fsync": [errno.ENOSYS]}

# {W}: the folder of one run; its store has demo:bf16, demo:int8 and demo-moe:bf16.
STORE = ["-s", "{W}/store"]
OPS = {
    "quantize-store": STORE + ["quantize", "demo:bf16", "new:int4", "-q", "int4"],
    "quantize-store-replace": STORE + ["quantize", "demo:bf16", "demo:int8", "-q", "int4",
                                       "--replace", "-y"],
    "quantize-dir": STORE + ["quantize", "demo:bf16", "{W}/out/new", "-q", "int8"],
    "quantize-dir-replace": STORE + ["quantize", "demo:bf16", "{W}/out/old", "-q", "int4",
                                     "--replace", "-y"],
    "quantize-file": STORE + ["quantize", "demo:bf16", "{W}/out/new.safetensors", "-q", "int8"],
    "quantize-file-replace": STORE + ["quantize", "demo:bf16", "{W}/out/old.safetensors", "-q",
                                      "int4", "--replace", "-y"],
    "import": STORE + ["import", "{W}/src", "fresh:latest"],
    "import-replace": STORE + ["import", "{W}/src", "demo:int8", "--replace", "-y"],
    "pack": STORE + ["unpack", "demo-moe:bf16", "moe:apart"],
    "scan": STORE + ["-d", "{W}/db/index.db", "scan"],
    "verify": STORE + ["-d", "{W}/db/index.db", "verify", "--report", "{W}/rep/r.json",
                       "--format", "json"],
}
# What goes through a journal: the quarantine is left out of what is compared.
HOUSE = {
    "heal": STORE + ["heal", "--from", "{W}/good"],
    "dedupe": STORE + ["-s", "{W}/good", "-y", "dedupe", "--min", "1000"],
}
# The same, and each is one operation: all is as before, or as after.
TIDY = {
    "rm": STORE + ["-y", "rm", "demo:int8"],
    "prune": STORE + ["-y", "prune", "--young"],
    "mv": STORE + ["mv", "demo:int8", "ns/other:v1"],
    "cp": STORE + ["cp", "demo:int8", "ns/other:v1"],
    "rm-dir": ["-s", "{W}/out", "-y", "rm", "{W}/out/old"],
    "mv-dir": ["-s", "{W}/out", "mv", "{W}/out/old", "new"],
    "rm-oci": ["-s", "{W}/oci", "-y", "rm", "oci:oci:img:int8"],
    "rm-hub": ["-s", "{W}/hub", "-y", "rm", "{W}/hub/models--a--b/snapshots/" + "2" * 40],
    "undo": STORE + ["undo"],
    "undo-empty": STORE + ["-y", "undo", "--empty"],
}
HOUSE.update(TIDY)
OPS.update(HOUSE)
# The same where temporary files have names.
NAMED = ["quantize-store", "quantize-dir", "quantize-file-replace", "import", "heal", "rm"]
# The same where names can neither be exchanged nor taken only if they are free.
PLAIN = ["heal", "dedupe", "rm", "mv", "mv-dir", "undo"]
OPS.update({op + "-named": OPS[op] for op in NAMED})
OPS.update({op + "-plain": OPS[op] for op in PLAIN})


def kind(op):
    return re.sub("-(named|plain)$", "", op)


TIDY.update({op: OPS[op] for op in OPS if kind(op) in TIDY})
HOUSE.update({op: OPS[op] for op in OPS if kind(op) in HOUSE})
WRITES = [op for op in OPS if op not in ("scan", "verify") and op not in HOUSE]
# What only prints: what it prints is whole, or it says that it is not.
INDEX = ["-d", "{W}/../index/index.db"]
PRINTS = {
    "ls": INDEX + ["ls"],
    "ls-json": INDEX + ["ls", "--json"],
    "blobs": INDEX + ["blobs"],
    "search": INDEX + ["search", "q_proj"],
    "sql": INDEX + ["sql", "SELECT * FROM tensor_list"],
    "show": STORE + ["show", "demo:bf16"],
    "tensors-json": STORE + ["tensors", "demo:int8", "--json"],
    "tensors": STORE + ["tensors", "demo:int8"],
    "tensor": STORE + ["tensor", "demo:int8", "model.layers.0.mlp.up_proj.weight", "--hist"],
    "plan": STORE + ["plan", "demo:bf16", "-q", "int4"],
    "tokenize": STORE + ["tokenize", "demo:bf16", "the cat sat"],
    "template": STORE + ["template", "demo:bf16", "{W}/talk.json"],
    "audit": INDEX + ["audit", "show"],
}
# What writes a file: it is whole, or not there.
EXPORTS = {
    "audit-report": INDEX + ["audit", "show", "-o", "{W}/rep/r.html"],
    "export": INDEX + ["audit", "export", "--cyclonedx", "-o", "{W}/rep/bom.json"],
}
OPS.update(PRINTS)
OPS.update(EXPORTS)
ONLY = [w for w in WORDS if w in OPS] or list(OPS)

# In memory if there is room: 700 copies of a store are most of the time on a disk.
ROOM = "/dev/shm" if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK) and \
    shutil.disk_usage("/dev/shm").free > 1 << 29 else None
T = tempfile.mkdtemp(prefix="tbtui-faults-", dir=os.environ.get("TMPDIR") or ROOM)
ENV = dict(os.environ, HOME=T + "/home", XDG_DATA_HOME=T + "/home/data", LC_ALL="C.UTF-8",
           OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
BEFORE, AFTER, COUNTS, TOOK, REFERENCE = {}, {}, {}, {}, {}
BEGAN = {}              # of each folder of a run: its files when it was made


def words(op, w):
    return [TBTUI, "-t", "1"] + [a.replace("{W}", w) for a in OPS[op]]


def shim(op, **env):
    """The environment that an operation runs in."""
    words = [w for w in ("named", "plain") if op.endswith("-" + w)]
    return dict(env, LD_PRELOAD=SHIM, **{"FAULT_" + w.upper(): "1" for w in words})


def run(argv, env=None, timeout=120):
    """Exit status (negative: a signal, None: it hangs), standard output and error."""
    try:
        p = subprocess.run(argv, env={**ENV, **(env or {})}, stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return None, "", ""
    out = re.sub("[0-9.]+ .B of it free", "", p.stdout.decode(errors="replace"))
    return p.returncode, out, p.stderr.decode(errors="replace")


def need(argv, *good):
    rc, out, err = run(argv)
    if rc not in (good or (0,)):
        sys.exit("%s: exit status %s\n%s%s" % (" ".join(argv), rc, out, err))
    return out


KEPT = re.compile(r"\.replaced-[0-9TZ]+(-[0-9]+)?")


def content(path):
    """A hash of it; of a bill of materials without when it was written."""
    if os.path.islink(path):
        return os.readlink(path)
    with open(path, "rb") as f:
        data = f.read()
    if path.endswith("/bom.json"):
        data = re.sub(rb'"(serialNumber|timestamp)": *"[^"]*"', b"", data)
    return hashlib.sha1(data).digest()


def tree(w, skip=("db", "rep")):
    """Paths below a folder and what is in them; of what is kept when it is replaced, the
    time in its name is left out."""
    out = {}
    for folder, dirs, files in os.walk(w):
        if folder == w:
            dirs[:] = [d for d in dirs if d not in skip]
        for f in files:
            path = os.path.join(folder, f)
            name = KEPT.sub(".replaced", os.path.relpath(path, w))
            out[name] = content(path)
        if not dirs and not files:
            out[KEPT.sub(".replaced", os.path.relpath(folder, w)) + "/"] = b""
    return out


def without_kept(files):
    return {p: what for p, what in files.items() if ".replaced" not in p}


def make_template():
    t = T + "/template"
    need([TBTUI, "demo", "--random", t + "/store"])
    library = t + "/store/manifests/registry.ollama.ai/library/"
    keep = {"demo": ["bf16", "int8"], "demo-moe": ["bf16"]}
    used = set()
    for model in os.listdir(library):
        for tag in os.listdir(library + model):
            path = library + model + "/" + tag
            if tag not in keep.get(model, []):
                os.unlink(path)
                continue
            with open(path) as f:
                m = json.load(f)
            used |= {x["digest"].replace(":", "-") for x in m["layers"] + [m["config"]]}
        if not os.listdir(library + model):
            os.rmdir(library + model)
    for blob in set(os.listdir(t + "/store/blobs")) - used:
        os.unlink(t + "/store/blobs/" + blob)
    base = [TBTUI, "-s", t + "/store", "quantize", "demo:bf16"]
    os.makedirs(t + "/out")
    need(base + [t + "/src", "-q", "keep"])
    need(base + [t + "/out/old", "-q", "int8"])
    need(base + [t + "/out/old.safetensors", "-q", "int8"])
    index = [TBTUI, "-s", t + "/store", "-d", T + "/index/index.db"]
    need(index + ["scan"])
    need(index + ["verify"])
    with open(t + "/talk.json", "w") as f:
        json.dump([{"role": "user", "content": "Who are you?"}], f)


def largest(w):
    """The two largest blobs of a store that are not equal."""
    blobs = w + "/store/blobs/"
    names = sorted(os.listdir(blobs), key=lambda b: (-os.path.getsize(blobs + b), b))
    return [blobs + b for b in names[:2]]


def idents(w):
    """All files but those of quarantines, and which they are: bytes, inode, time, mode."""
    out = {}
    for folder, dirs, files in os.walk(w):
        dirs[:] = [d for d in dirs if d != ".tbtui" and (folder != w or d not in ("db", "rep"))]
        for f in files + [d for d in dirs if os.path.islink(os.path.join(folder, d))]:
            path = os.path.join(folder, f)
            st = os.lstat(path)
            out[os.path.relpath(path, w)] = st.st_ino, st.st_mtime_ns, st.st_mode, content(path)
    return out


def undone(w, op):
    """Undo, as long as there is something: byte for byte what there was at the beginning."""
    stores = [w + "/" + s for s in ("store", "good", "out", "oci", "hub")]
    args = [a for s in stores if os.path.isdir(s) for a in ("-s", s)]
    for _ in range(9):
        rc, out, err = run([TBTUI] + args + ["undo"])
        if rc == 2 and "nothing to undo" in err:
            break
        if rc:
            return "undo: exit status %s: %s" % (rc, err)
    now = idents(w)
    odd = sorted(p for p in now.keys() | BEGAN[w].keys() if now.get(p) != BEGAN[w].get(p))
    if odd:
        return "undone, it is not what it was: %s" % [(p, BEGAN[w].get(p), now.get(p))
                                                      for p in odd[:2]]
    held = [os.path.join(d, f) for s in stores for d, _, files in os.walk(s + "/.tbtui")
            for f in files if f not in ("last", "journal.undone") and
            os.stat(os.path.join(d, f)).st_nlink == 1]
    if held and kind(op) not in ("cp", "rm-oci", "heal", "dedupe"):     # which put something in
        return "undone, there is left: %s" % held[:3]
    return None


def put(path, data=None, link=None):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if link:
        return os.symlink(link, path)
    with open(path, "wb") as f:
        f.write(data)


def make_oci(w):
    """The models of the store's demo as an OCI layout."""
    top, index = w + "/oci/", []
    for tag in ("bf16", "int8"):
        path = w + "/store/manifests/registry.ollama.ai/library/demo/" + tag
        with open(path, "rb") as f:
            data = f.read()
        m = json.loads(data)
        digest = hashlib.sha256(data).hexdigest()
        put(top + "blobs/sha256/" + digest, data)
        index.append({"mediaType": m["mediaType"], "digest": "sha256:" + digest, "size": len(data),
                      "annotations": {"org.opencontainers.image.ref.name": "img:" + tag}})
        for x in m["layers"] + [m["config"]]:
            name = x["digest"].replace(":", "-")
            if not os.path.exists(top + "blobs/" + name.replace("-", "/")):
                shutil.copy(w + "/store/blobs/" + name, top + "blobs/" + name.replace("-", "/"))
    put(top + "oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
    put(top + "index.json", json.dumps({"schemaVersion": 2, "manifests": index}).encode())


def make_hub(w):
    """A repository of a Hugging Face cache: two revisions with most files in common."""
    top = w + "/hub/models--a--b/"
    for rev, mark in (("1" * 40, b"one"), ("2" * 40, b"two")):
        for f in sorted(os.listdir(w + "/src")):
            with open(w + "/src/" + f, "rb") as data:
                what = data.read()
            if f == "README.md" or f == "generation_config.json":
                what += b"\n"
            blob = hashlib.sha256(what).hexdigest()
            if not os.path.exists(top + "blobs/" + blob):
                put(top + "blobs/" + blob, what)
            put(top + "snapshots/%s/%s" % (rev, f), link="../../blobs/" + blob)
        blob = hashlib.sha1(b"blob %d\0" % len(mark) + mark).hexdigest()
        put(top + "blobs/" + blob, mark)
        put(top + "snapshots/%s/NOTES.md" % rev, link="../../blobs/" + blob)
    put(top + "refs/main", b"1" * 40)
    put(top + "refs/new", b"2" * 40)


def fresh(name, op=""):
    w = "%s/%s" % (T, name)
    shutil.copytree(T + "/template", w)
    os.makedirs(w + "/rep")
    make_ready(w, op)
    if op in HOUSE and not op.startswith("undo"):
        BEGAN[w] = idents(w)
    return w


def make_ready(w, op):
    if op == "rm-oci":
        make_oci(w)
    if op == "rm-hub":
        make_hub(w)
    if op in HOUSE and op not in TIDY:
        shutil.copytree(w + "/store", w + "/good")
    if op == "prune":
        orphan = b"of no model"
        with open(w + "/store/blobs/sha256-" + hashlib.sha256(orphan).hexdigest(), "wb") as f:
            f.write(orphan)
    if op.startswith("undo"):
        BEGAN[w] = idents(w)
        need([TBTUI, "-s", w + "/store", "-y", "rm", "demo:int8"])
    if op.startswith("heal"):
        flipped, gone = largest(w)
        with open(flipped, "r+b") as f:
            f.seek(1000)
            f.write(b"?!")
        os.unlink(gone)
    if op == "undo-empty":
        BEGAN[w] = idents(w)


def listed(w, path, text):
    """Does scan or verify say that it is there?"""
    for part in path.split("/"):
        if part and part in text or part.replace("sha256-", "sha256:") in text and \
           part.startswith("sha256-"):
            return True
    return False


def checks(w):
    """What verify and scan say about all that is there: exit status, words."""
    said, worst = "", 0
    for argv in (["verify"], ["scan"]):
        rc, out, err = run([TBTUI, "-s", w + "/store", "-s", w + "/out", "-d", T + "/x/%s.db" %
                            os.path.basename(w)] + argv)
        said += out + err
        worst = max(worst, 2 if rc is None or rc < 0 else rc)
    return worst, said


def state(w, op):
    """"before", "after", or what is wrong."""
    now, before, after = tree(w), BEFORE[op], AFTER[op]
    if now == before:
        return "before"
    if now == after:
        return "after"
    if any(now.get(p) not in (before.get(p), after.get(p)) for p in before.keys() & after.keys()):
        return "a file is neither the old nor the new one"
    gone = [p for p in before if p not in now and not p.endswith("/")]
    lost = [p for p in after if p not in now and not p.endswith("/")]
    if gone and lost:
        return "missing of what was there: %s, of what should be: %s" % (gone[:3], lost[:3])
    rc, said = checks(w)
    if rc:
        return "verify says:\n" + said
    more = now.keys() - (before if lost else after).keys()
    unlisted = [p for p in more if not p.endswith("/") and not listed(w, p, said)]
    if unlisted:
        return "left and not listed: %s" % unlisted[:3]
    return "before" if lost else "after"


def outside(w):
    """All files but those of quarantines."""
    return {p: what for p, what in tree(w).items() if ".tbtui" not in p and p[-1] != "/"}


def inodes(w):
    return {os.stat(f).st_ino for f in (b.replace("/store/", s) for b in largest(w)[:1]
                                        for s in ("/store/", "/good/"))}


def judge_house(w, op, rc, out=""):
    """Each file is as before or as after; run again, all are as after."""
    if op in TIDY:
        return judge_tidy(w, op, rc, out)
    now, before, after = outside(w), BEFORE[op], AFTER[op]
    odd = [p for p in now.keys() | before.keys() | after.keys()
           if now.get(p) not in (before.get(p), after.get(p))]
    if odd:
        return "neither as before nor as after: %s" % odd[:3]
    if rc == 0 and now != after:
        return "exit status 0, and it is not done"
    if rc == 0 and kind(op) == "dedupe" and len(inodes(w)) > 1:
        return "exit status 0, and two files"
    again, out, err = run(words(op, w))
    if again or outside(w) != after or (kind(op) == "dedupe" and len(inodes(w)) > 1):
        return "run again it is not done: %s%s" % (out, err)
    wrong = undone(w, op)
    if wrong:
        return wrong
    return None if op.startswith("heal") else verify_says(w)


def verify_says(w):
    """Of what is as before or as after, it says what it said then: seldom looked at."""
    if random.random() < 0.9:
        return None
    rc, said = checks(w)
    return "verify says:\n" + said if rc else None


def left_alone(op, now, out):
    """What could not be read may be needed, or is an orphan then, which is said."""
    odd = {p for p in now.keys() | AFTER[op].keys() if now.get(p) != AFTER[op].get(p)}
    return "left alone" in out and kind(op)[:2] in ("rm", "pr") and all(
        now.get(p) == BEFORE[op].get(p) and "blobs/" in p for p in odd)


def judge_tidy(w, op, rc, out):
    """What was killed is dealt with by the next one; then all is as before, or as after."""
    roots = [a.replace("{W}", w) for a in OPS[op][:2]]
    store = [TBTUI] + roots
    try:
        ops = json.loads(run(store + ["undo", "--list", "--json"])[1])["operations"]
    except ValueError:
        return "undo --list says nothing"
    if any(o["state"] not in ("done", "undone") for o in ops):
        again, _, err = run(store + ["undo"])
        if again:
            return "it cannot be dealt with: " + err
    now = outside(w)
    if now not in (BEFORE[op], AFTER[op]) and not left_alone(op, now, out):
        return "neither as before nor as after: %s" % sorted(
            now.keys() ^ (AFTER if rc == 0 else BEFORE)[op].keys())[:3]
    if rc == 0 and now != AFTER[op] and not left_alone(op, now, out):
        return "exit status 0, and it is not done"
    if op == "undo-empty" and rc == 0 and os.listdir(w + "/store/.tbtui") != ["last"]:
        return "exit status 0, and it is not empty"
    if op == "undo-empty":
        return None if idents(w) == BEGAN[w] else "it is not what it was"
    return undone(w, op) or verify_says(w)


def plain_report(w):
    try:
        with open(w + "/rep/r.json") as f:
            r = json.load(f)
    except FileNotFoundError:
        return None
    except ValueError:
        return "no JSON"
    for f in r["findings"]:
        f["model_path"] = ""
    return json.dumps([r["checked"], r["findings"], r["clean"], r["state"]])


def index(w):
    rc, out, _ = run([TBTUI, "-d", w + "/db/index.db", "ls", "--json"])
    try:
        rows = json.loads(out)["models"] if rc == 0 else None
    except (ValueError, KeyError):
        return None
    for r in rows or []:
        for k in [k for k in r if k in ("path", "root", "modified", "mtime") or "verif" in k]:
            del r[k]
    return json.dumps(rows, sort_keys=True).replace(w, "")


def judge_index(w, op, rc, err, fn):
    """scan and verify change nothing but the index; what it has is whole when they say so."""
    if tree(w) != BEFORE[op]:
        return "the store has changed"
    if op == "verify":
        report = plain_report(w)
        if rc == 0 and report != REFERENCE[op]:
            return "exit status 0 without the whole report"
        if rc == 1 and fn == "malloc":
            return "no memory is called damage"
        if rc == 1 and (report is None or '"error"' not in report):
            return "exit status 1 without a finding"
        return "the report is cut" if report == "no JSON" else None
    if rc == 0 and index(w) != REFERENCE[op]:
        return "exit status 0 without all models"
    if run(words(op, w))[0] or index(w) != REFERENCE[op]:
        return "the next scan does not mend it"
    return None


def judge_export(w, op, rc):
    path = w + "/rep/" + os.path.basename(OPS[op][-1])
    there = os.path.exists(path)
    if rc == 0 and not there:
        return "exit status 0, and nothing is there"
    if there and content(path) != REFERENCE[op]:
        return "the file is not whole"
    more = [f for f in os.listdir(w + "/rep") if f != os.path.basename(path)]
    return "left: %s" % more if rc == 0 and more else None


def judge(w, op, rc, out, err, fn):
    if rc is None:
        return "hangs"
    if rc < 0:
        return "ended by signal %d" % -rc
    if rc not in (0, 1, 2):
        return "exit status %d" % rc
    if rc == 2 and not ("tbtui: " in err and ("/" in err or "out of memory" in err)):
        return "no message that names a file: %r" % err
    if op in PRINTS:
        if rc == 0 and out != REFERENCE[op]:
            lines = zip(out.split("\n") + [""], REFERENCE[op].split("\n"))
            return "exit status 0 without all that is printed: %r, not %r" % next(
                (pair for pair in lines if pair[0] != pair[1]), ("", ""))
        return "no memory is called damage" if rc == 1 and fn == "malloc" else None
    if op in EXPORTS:
        return judge_export(w, op, rc)
    if op in HOUSE:
        return "no memory is called damage" if rc == 1 and fn == "malloc" else judge_house(w, op, rc, out)
    if op not in WRITES:
        return judge_index(w, op, rc, err, fn)
    was = state(w, op)
    if was not in ("before", "after"):
        return was
    return "exit status 0, and nothing is there" if rc == 0 and was != "after" else None


def count(op):
    """Runs it once, undisturbed: the calls, the time, what is there before and after."""
    w, counts = T + "/template" if op in PRINTS else fresh("ref-" + op, op), T + "/counts"
    BEFORE[op] = outside(w) if op in HOUSE else tree(w)
    with open(counts, "wb") as f:
        f.write(bytes(8 * len(NAMES)))
    start = time.monotonic()
    rc, out, err = run(words(op, w), shim(op, FAULT_COUNT=counts))
    TOOK[op] = time.monotonic() - start
    if rc:
        sys.exit("%s: exit status %s undisturbed\n%s" % (op, rc, err))
    with open(counts, "rb") as f:
        COUNTS[op] = dict(zip(NAMES, struct.unpack("%dQ" % len(NAMES), f.read())))
    if not COUNTS[op]["malloc"]:
        sys.exit("%s is not preloaded" % SHIM)
    if op in PRINTS:
        REFERENCE[op] = out
        if not out or run(words(op, w))[1] != out:
            sys.exit("%s: prints nothing, or something else each time" % op)
        return
    AFTER[op] = outside(w) if op in HOUSE else tree(w)
    REFERENCE[op] = plain_report(w) if op == "verify" else index(w) if op == "scan" else None
    if op in EXPORTS:
        REFERENCE[op] = content(w + "/rep/" + os.path.basename(OPS[op][-1]))
        shutil.rmtree(w)
        return
    if op not in ("scan", "verify") and checks(w)[0]:
        sys.exit("%s: verify finds something, undisturbed" % op)
    shutil.rmtree(w)


def with_fault(case):
    op, fn, n, code, on, serial = case
    w = T + "/template" if op in PRINTS else fresh("run-%d" % serial, op)
    env = shim(op, FAULT_FN=fn, FAULT_AT=str(n), FAULT_ERRNO=str(code))
    if on:
        env["FAULT_ON"] = "1"
    rc, out, err = run(words(op, w), env)
    wrong = judge(w, op, rc, out, err, fn)
    if op not in PRINTS:
        shutil.rmtree(w, ignore_errors=True)
    return case, rc, wrong, err


def call_cases():
    """All of them, or some of each kind, spread evenly."""
    for i, op in enumerate(ONLY):
        for fn in FUNCTIONS:
            calls, codes = COUNTS[op][fn], CODES[fn]
            if not LONG:
                codes = [codes[i % len(codes)]]
            for on, codes in ((False, codes), (True, STAYS.get(fn, []))):
                for code in codes:
                    if LONG:
                        often = {"malloc": EVERY, "open": EVERY // 10, "readdir": EVERY // 10}
                        step = max(1, often.get(fn, 1)) * (29 if on else 1)
                    else:
                        some = 4 if fn == "malloc" and op not in PRINTS else 2
                        step = max(1, calls // (1 if on else some))
                    for n in range(1 + step // 3, calls + 1, step):
                        yield op, fn, n, code, on


def in_parallel(work, cases):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        yield from pool.map(work, cases)


def report_bad(what, wrong, err=""):
    print("BAD %s: %s%s" % (what, wrong, "\n    " + err.strip()[:300] if err.strip() else ""),
          flush=True)


def fail_calls():
    done, bad = collections.Counter(), collections.Counter()
    cases = [c + (i,) for i, c in enumerate(call_cases())]
    for (op, fn, n, code, on, _), rc, wrong, err in in_parallel(with_fault, cases):
        done[op, fn] += 1
        if wrong:
            bad[op, fn] += 1
            name = "short" if code == SHORT else errno.errorcode[code]
            report_bad("%s: %s %d %s%s, exit status %s" % (op, fn, n, name, " and on" * on, rc),
                       wrong, err)
    print("%-28s" % "failed calls" + "".join("%9s" % n for n in FUNCTIONS))
    for op in ONLY:
        print("%-28s" % op + "".join("%9s" % ("%d%s" % (done[op, f], "!%d" % bad[op, f]
              if bad[op, f] else "")) for f in FUNCTIONS))
    print("%d calls failed, %d bad outcomes" % (sum(done.values()), sum(bad.values())))
    return sum(bad.values())


# ---- kills ----

def with_kill(case):
    """Killed at a moment (fn None, `when` in seconds), or as it makes the n-th call of fn."""
    op, fn, when, serial = case
    w = fresh("kill-%s" % serial, op)
    env = shim(op, FAULT_FN=fn, FAULT_AT=str(when), FAULT_ERRNO="-1") if fn else shim(op)
    p = subprocess.Popen(words(op, w), env={**ENV, **env}, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not fn:
        time.sleep(when)
        p.kill()
    killed = p.wait() == -signal.SIGKILL
    if op in WRITES:
        was = state(w, op)
        wrong = None if was in ("before", "after") else was
    elif op in HOUSE:
        wrong = judge_house(w, op, None)
    else:
        wrong = judge_index(w, op, 2, "", "kill")
    if not wrong and op in WRITES:
        again = words(op, w)
        rc, _, err = run(again if was == "before" or "--replace" in again else again + ["-f"],
                         shim(op))
        if rc:
            wrong = "cannot be run again: " + err
        elif without_kept(tree(w)) != without_kept(AFTER[op]):
            wrong = "run again it leaves %s" % sorted(tree(w).keys() ^ AFTER[op].keys())[:3]
    shutil.rmtree(w, ignore_errors=True)
    return case, killed, wrong


def kill_cases(part):
    rnd = random.Random(os.environ.get("FAULTS_SEED"))
    ops = [op for op in ONLY if op not in PRINTS and op not in EXPORTS]
    if part == "moments":
        every = -(-MOMENTS // len(ops)) if MOMENTS else 80 if LONG else 1
        return [(op, None, rnd.uniform(0, 1.1) * TOOK[op]) for op in ops for _ in range(every)]
    cases = []
    for op in ops:
        for fn in FUNCTIONS:
            if fn not in ("malloc", "readdir", "open"):
                calls = range(1, COUNTS[op][fn] + 1)
                few = min(len(calls), 2 if fn == "rename" and op in TIDY else 1)
                cases += [(op, fn, n) for n in (calls if LONG else rnd.sample(calls, few))]
    return cases


def kill_all(part):
    cases = [c + (part + str(i),) for i, c in enumerate(kill_cases(part))]
    kills, wrongs = collections.Counter(), 0
    for (op, fn, when, _), killed, wrong in in_parallel(with_kill, cases):
        kills[op] += killed
        if wrong:
            wrongs += 1
            report_bad("%s killed %s" % (op, "at %s %d" % (fn, when) if fn else
                                         "after %.1f ms" % (when * 1000)), wrong)
    print("%d kills at %s over %d operations (%s), %d bad outcomes" % (
        kills.total(), "calls" if part == "kills" else "moments, of %d tried," % len(cases),
        len(kills), ", ".join("%s %d" % k for k in kills.items()), wrongs))
    return wrongs


# ---- pairs: two at once, one of them with a slow fsync and interrupted ----

def start(argv, slow):
    env = {**ENV, "LD_PRELOAD": SHIM, "FAULT_SLOW": str(slow)} if slow else ENV
    return subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE)


PAIRS = {
    "two names": (["quantize", "demo:bf16", "one:a", "-q", "int4"],
                  ["quantize", "demo:bf16", "two:a", "-q", "int4"]),
    "one name": (["quantize", "demo:bf16", "one:a", "-q", "int4"],
                 ["quantize", "demo:bf16", "one:a", "-q", "mxfp8"]),
    "one name, replacing": (["quantize", "demo:bf16", "demo:int8", "-q", "int4", "-f", "-y"],
                            ["quantize", "demo:bf16", "demo:int8", "-q", "mxfp8", "-f", "-y"]),
    "imports": (["import", "{W}/src", "one:a"], ["import", "{W}/src", "two:a"]),
    "imports of one name": (["import", "{W}/src", "one:a"], ["import", "{W}/src", "one:a"]),
    "import and quantize": (["import", "{W}/src", "one:a"],
                            ["quantize", "demo:bf16", "two:a", "-q", "keep"]),
    "one folder": (["quantize", "demo:bf16", "{W}/out/n", "-q", "int4"],
                   ["quantize", "demo:bf16", "{W}/out/n", "-q", "int8"]),
    "one folder, replacing": (["quantize", "demo:bf16", "{W}/out/old", "-q", "int4", "-f", "-y"],
                              ["quantize", "demo:bf16", "{W}/out/old", "-q", "int8", "-f", "-y"]),
}


def pair(case):
    name, sig, slow, wait, serial = case
    w = fresh("pair-%d" % serial)
    before = tree(w)
    both = [[TBTUI, "-t", "1", "-s", w + "/store"] + [a.replace("{W}", w) for a in half]
            for half in PAIRS[name]]
    a, b = start(both[0], slow), start(both[1], 0)
    if sig:
        time.sleep(wait)
        a.send_signal(sig)
    errs = [p.communicate()[1].decode(errors="replace") for p in (a, b)]
    rc, said = checks(w)
    wrong = None
    if rc:
        wrong = "exit statuses %d and %d; verify says:\n%s" % (a.returncode, b.returncode, said)
    elif name in ("one name", "imports of one name", "one folder") and \
            a.returncode == 0 and b.returncode == 0:
        wrong = "both have the one name"
    elif b.returncode not in (0, 2) or (b.returncode and "exist" not in errs[1] and
                                        "busy" not in errs[1]):
        wrong = "the other one: exit status %d: %s" % (b.returncode, errs[1])
    elif b.returncode and a.returncode and tree(w) == before:
        wrong = "neither is done: %s%s" % (errs[0], errs[1])
    now = tree(w)
    if not wrong and any(p not in now for p in before if "replacing" not in name):
        wrong = "something of before is missing"
    left = [p for p in now if p not in before and "/.tbtui" in p and not listed(w, p, said)]
    if not wrong and left:
        wrong = "left and not listed: %s" % left[:3]
    shutil.rmtree(w, ignore_errors=True)
    return case, wrong


def run_pairs():
    rnd = random.Random(os.environ.get("FAULTS_SEED"))
    n, wrongs = 40 if LONG else 2, 0
    cases = []
    for i, name in enumerate(PAIRS):
        for k in range(n):
            sig = (0, signal.SIGINT, signal.SIGTERM)[(i + k) % 3]
            slow = rnd.choice([1, 5, 20])
            cases.append((name, sig, slow, rnd.uniform(0.01, 0.1 + 0.02 * slow), i * 1000 + k))
    for (name, sig, slow, wait, _), wrong in map(pair, cases):
        if wrong:
            wrongs += 1
            report_bad("pair %s, fsync %d ms, signal %d after %.0f ms" %
                       (name, slow, sig, wait * 1000), wrong)
    print("%d pairs of writers, %d bad outcomes" % (len(cases), wrongs))
    return wrongs


def gone_meanwhile():
    """A manifest, or a blob, that was taken away when it is opened, after it was listed, and
    is back soon: no alarm."""
    wrongs = 0
    library = T + "/template/store/manifests/registry.ollama.ai/library/demo/"
    with open(library + "int8") as f:
        layer = json.load(f)["layers"][-1]["digest"].replace(":", "-")
    for i, path in enumerate((library + "int8", T + "/template/store/blobs/" + layer)):
        rc, out, err = run([TBTUI, "-t", "1", "-s", T + "/template/store", "-d",
                            "%s/x/gone%d.db" % (T, i), "verify", "-v"],
                           {"LD_PRELOAD": SHIM, "FAULT_FN": "open", "FAULT_AT": "1",
                            "FAULT_ERRNO": str(errno.ENOENT), "FAULT_UNDER": path})
        if rc:
            wrongs += 1
            report_bad("verify, %s gone meanwhile" % path, "exit status %d: %s" % (rc, out), err)
    return wrongs


def too_many_files():
    """No descriptor for one of the files of a store's models: verify says why it ends."""
    wrongs, counts = 0, T + "/counts"
    argv = [TBTUI, "-t", "1", "-s", T + "/template/store", "-d", T + "/x/many.db", "verify"]
    under = {"LD_PRELOAD": SHIM, "FAULT_UNDER": T + "/template/store"}
    with open(counts, "wb") as f:
        f.write(bytes(8 * len(NAMES)))
    run(argv, {**under, "FAULT_COUNT": counts})
    with open(counts, "rb") as f:
        opens = struct.unpack("%dQ" % len(NAMES), f.read())[NAMES.index("open")]
    for n in range(1, opens + 1, 1 if LONG else 4):
        rc, out, err = run(argv, {**under, "FAULT_FN": "open", "FAULT_AT": str(n),
                                  "FAULT_ERRNO": str(errno.EMFILE)})
        if rc and (rc != 2 or "too many open files" not in err):
            wrongs += 1
            report_bad("verify, no descriptor for open %d" % n, "exit status %s" % rc, err)
    print("%d files opened, no descriptor for some: %d bad outcomes" % (opens, wrongs))
    return wrongs


def main():
    os.makedirs(T + "/home")
    os.makedirs(T + "/x")
    make_template()
    for op in ONLY:
        count(op)
    print("%-28s" % "calls made" + "".join("%9s" % n for n in FUNCTIONS))
    for op in ONLY:
        print("%-28s" % op + "".join("%9d" % COUNTS[op][f] for f in FUNCTIONS), flush=True)
    parts = {"calls": fail_calls, "kills": lambda: kill_all("kills"),
             "moments": lambda: kill_all("moments"), "pairs": run_pairs}
    return sum(parts[p]() for p in PARTS) + gone_meanwhile() + too_many_files()


try:
    wrong = main()
finally:
    shutil.rmtree(T, ignore_errors=True)
sys.exit(1 if wrong else 0)
