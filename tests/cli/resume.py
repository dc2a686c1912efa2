"""resume.py TBTUI FOLDER - verify runs that end before they are through."""
import json
import os
import signal
import sqlite3
import struct
import subprocess
import sys
import time

tbtui, folder = sys.argv[1:3]
store, index = f"{folder}/store", f"{folder}/db/index.db"
os.makedirs(store)
os.makedirs(f"{folder}/db")
failures = 0


def check(what, have, want):
    global failures
    if have != want:
        print(f"{what}: {have!r}, not {want!r}", file=sys.stderr)
        failures += 1


def model(name, values):
    header = json.dumps({"w": {"dtype": "F32", "shape": [len(values)],
                               "data_offsets": [0, 4 * len(values)]}}).encode()
    header += b" " * (-len(header) % 8)
    os.makedirs(f"{store}/{name}", exist_ok=True)
    with open(f"{store}/{name}/model.safetensors", "wb") as f:
        f.write(struct.pack("<Q", len(header)) + header + struct.pack(f"<{len(values)}f", *values))


def verify(*args):
    """The report, and the exit status."""
    done = subprocess.run([tbtui, "--db", index, "-s", store, "-t", "2", "--json", "verify", *args],
                          capture_output=True, text=True)
    return json.loads(done.stdout) if done.stdout.startswith("{") else {}, done.returncode


def text(*args):
    return subprocess.run([tbtui, "--db", index, "-s", store, "verify", *args],
                          capture_output=True, text=True).stdout


def audits(sql, *args):
    with sqlite3.connect(f"{folder}/db/audits.db") as db:
        rows = db.execute(sql, args).fetchall()
    db.close()
    return rows


def size(name):
    return os.path.getsize(f"{store}/{name}/model.safetensors")


def interrupt(run, state, unread=()):
    """As if that run had not got further: the last hash of those is from before it."""
    audits("UPDATE runs SET state = ?, ended_ns = 0 WHERE id = ?", state, run)
    for name in unread:
        audits("UPDATE hashes SET run = 0 WHERE path LIKE ?", f"%/{name}/model.safetensors")


RUNNING, CANCELLED, FAILED = 0, 4, 5
for i in range(6):
    model(f"m{i}", [i + 0.5] * (1000 + i))

# All files were recorded; a second run is what is interrupted, after four of six.
first, status = verify()
check("first", (first["state"], status, first["resumes"]), ("recorded", 0, None))
for state in (RUNNING, CANCELLED, FAILED):
    verify("--all")
    run = verify("--all")[0]["run"]
    interrupt(run, state, ("m1", "m4"))
    again, status = verify()
    have = sum(size(f"m{i}") for i in (0, 2, 3, 5))
    check("resumed", again["resumes"], {"run": run, "files": 4, "bytes": have})
    check("read", again["checked"]["bytes"], size("m1") + size("m4"))
    check("state", (again["state"], status, again["skipped"]), ("clean", 0, 0))
    check("models", {m["state"] for m in again["models"]}, {"hashed"})
    # That one came to its end: nothing is gone on with.
    after, status = verify()
    check("after", (after["resumes"], after["checked"]["blobs"]), (None, 6))

# All was read, and it was killed before its last word.
run = verify()[0]["run"]
interrupt(run, RUNNING)
again, status = verify()
check("nothing left", (again["state"], status, again["checked"]["bytes"], again["resumes"]["files"]),
      ("clean", 0, 0, 6))

# The words, and --all.
run = verify("--all")[0]["run"]
interrupt(run, CANCELLED, ("m1",))
if f"goes on with run {run}: 5 files, " not in text():
    check("text", "", "goes on with run")
run = verify("--all")[0]["run"]
interrupt(run, CANCELLED)
check("--all", verify("--all")[0]["resumes"], None)
check("both", verify("--all", "--since", "1h")[1], 2)

# Interrupted twice: what either had found good counts.
one = verify("--all")[0]["run"]
interrupt(one, CANCELLED, ("m1", "m2", "m3"))
two, _ = verify()
check("one", two["resumes"]["files"], 3)
interrupt(two["run"], RUNNING, ("m2",))
three, _ = verify()
check("two", (three["resumes"]["run"], three["resumes"]["files"]), (two["run"], 5))

# Another scope or depth is not gone on with, nor what is long ago.
run = verify("--all")[0]["run"]
interrupt(run, CANCELLED)
check("deep", verify("--deep")[0]["resumes"], None)
check("scope", verify(f"{store}/m1")[0]["resumes"], None)
deep = verify("--deep", "--all")[0]["run"]
interrupt(deep, CANCELLED, ())
check("deep too", verify("--deep")[0]["resumes"], {"run": deep, "files": 6,
                                                   "bytes": sum(size(f"m{i}") for i in range(6))})
run = verify("--all")[0]["run"]
interrupt(run, CANCELLED)
audits("UPDATE runs SET started_ns = started_ns - ? WHERE id = ?", 8 * 86400 * 10**9, run)
check("old", verify()[0]["resumes"], None)

# What was touched since is read.
run = verify("--all")[0]["run"]
interrupt(run, CANCELLED)
os.utime(f"{store}/m3/model.safetensors")
check("touched", verify()[0]["resumes"]["files"], 5)

# Damage that was found before the interruption is found after it; a warning and a note, too.
path = f"{store}/m2/model.safetensors"
stat = os.stat(path)
with open(path, "r+b") as f:
    f.seek(400)
    byte = f.read(1)
    f.seek(400)
    f.write(bytes([byte[0] ^ 64]))
os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
model("m5", [7.0] * 99)
model("m6", [float("nan")] * 2000)
bad, status = verify("--deep", "--all")
codes = sorted(f["code"] for f in bad["findings"])
check("damage", (codes, status), (["changed_since", "content_changed", "nonfinite"], 1))
interrupt(bad["run"], RUNNING)
again, status = verify("--deep")
check("damage again", (sorted(f["code"] for f in again["findings"]), status), (codes, 1))
check("read again", (again["resumes"]["files"], again["checked"]["blobs"]), (5, 2))
with open(path, "r+b") as f:
    f.seek(400)
    f.write(byte)
os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

# Killed for good: while a large file is still being read, all small ones are in the book.
os.makedirs(f"{store}/large")
with open(f"{store}/large/model.safetensors", "wb") as f:
    header = json.dumps({"w": {"dtype": "U8", "shape": [1 << 37],
                               "data_offsets": [0, 1 << 37]}}).encode()
    header += b" " * (-len(header) % 8)
    f.write(struct.pack("<Q", len(header)) + header)
    f.truncate(8 + len(header) + (1 << 37))
before = audits("SELECT max(id) FROM runs")[0][0]
running = subprocess.Popen([tbtui, "--db", index, "-s", store, "-t", "2", "verify", "--all"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
for _ in range(600):
    time.sleep(0.1)
    if audits("SELECT count(*) FROM hashes WHERE run > ?", before)[0][0] >= 7:
        break
running.send_signal(signal.SIGKILL)
running.wait()
os.unlink(f"{store}/large/model.safetensors")
os.rmdir(f"{store}/large")
killed = audits("SELECT id, state FROM runs ORDER BY id DESC LIMIT 1")[0]
check("killed", killed, (before + 1, RUNNING))
again, status = verify()
check("goes on", (again["resumes"], status),
      ({"run": before + 1, "files": 7, "bytes": sum(size(f"m{i}") for i in range(7))}, 0))
sys.exit(failures > 0)
