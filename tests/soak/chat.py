#!/usr/bin/env python3
"""chat.py TBTUI [SECONDS [SEED [STEPS]]] - a person who stays in the chat panel for hours.

The program runs on a pseudo terminal, on a demo store, and is asked, stopped, asked again,
resized, given other models and other sessions by keys, drawn from a seed: as fast as it
goes, or STEPS spread over the time.  Judged is that each message is in chats.db afterwards,
that the program is still there, and, where STEPS are said, that memory does not grow:
resident and anonymous memory after each step, medians of the last third of the run against
the middle one.  (Without, thousands of turns are kept in a minute, and those take room.)
"""
import fcntl
import os
import pty
import random
import re
import select
import signal
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time

LIMIT = 1.02
IDLE, MARK = b"\x1d", b"\x1b]777;idle\x07"
MODELS = ["demo:bf16", "demo:int4", "demo:int8", "demo:mxfp8", "demo-moe:int4"]
WORDS = "verify quantize prune undo digest blob tensor heal export model key screen".split()
QUESTIONS = ["How do I {} a model?", "What does {} mean?", "which key is for {}", "Tell me about {}.",
             "Can I {} two models at once?"]


class Terminal:
    """The program on a terminal of its own, whose answers are waited for."""

    def __init__(self, argv, env):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(argv[0], argv, env)
        self.size(24, 80)
        self.wait(60, ask=False)        # it asks nothing while it starts
        self.settle()

    def size(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def keys(self, text):
        data = text.encode()
        while data:
            self.drain(0)
            data = data[os.write(self.fd, data[:512]):]

    def drain(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return b""
        try:
            return os.read(self.fd, 65536)
        except OSError:
            sys.exit("the program has gone: %s" % (os.waitpid(self.pid, 0),))

    def wait(self, seconds, ask=True):
        """Until it says that all is done and drawn, or has drawn for the first time."""
        seen, end = b"", time.monotonic() + seconds
        while (MARK if ask else b"\x1b[") not in seen:
            if time.monotonic() > end:
                sys.exit("no answer for %d s; the last of the screen: %r" % (seconds, seen[-500:]))
            seen = seen[-200:] + self.drain(1)

    def settle(self):
        os.write(self.fd, IDLE)
        self.wait(120)

    def memory(self):
        with open("/proc/%d/smaps_rollup" % self.pid) as f:
            text = f.read()
        return [int(re.search(r"^%s: +(\d+)" % name, text, re.M).group(1))
                for name in ("Rss", "Anonymous")]


class Person:
    def __init__(self, terminal, rng):
        self.t, self.rng = terminal, rng
        self.said, self.did = [], {}

    def message(self):
        text = self.rng.choice(QUESTIONS).format(self.rng.choice(WORDS))
        return "%s (%d)" % (text, len(self.said))

    def ask(self):
        text = self.message()
        self.t.keys(text + "\r")
        self.said.append(text)

    def stop(self):
        self.ask()
        time.sleep(self.rng.random() * 0.03)
        self.t.keys("\x1b")
        self.t.settle()
        self.t.keys("\r")       # types again if it had ended before: Esc was for reading then

    def paste(self):
        lines = ["%d: %s" % (i, self.rng.choice(WORDS)) for i in range(self.rng.randrange(2, 40))]
        text = "\n".join([self.message()] + lines)
        self.t.keys("\x1b[200~" + text.replace("\n", "\r") + "\x1b[201~")
        self.t.settle()
        self.t.keys("\r")
        self.said.append(text)

    def command(self, text):
        self.t.keys(text + "\r")

    def again(self):
        self.command("/regen")

    def edit(self):
        self.command("/edit " + self.message())     # refused where nothing was said

    def undo(self):
        self.command("/undo")
        self.t.settle()
        self.t.keys("\x15")     # what was said is there to be said otherwise

    def redo(self):
        self.command("/redo")

    def other(self):
        self.command("/other")

    def model(self):
        self.command("/model " + self.rng.choice(MODELS))

    def session(self):
        self.command("/load %d" % self.rng.randrange(1, 3))

    def size(self):
        self.t.size(self.rng.randrange(8, 60), self.rng.randrange(30, 200))

    def look(self):
        """Reads what was said, goes elsewhere and comes back."""
        self.t.keys("\x1b")
        self.t.settle()
        for key in self.rng.sample(["[", "]", "g", "G", " ", "\x1b[5~"], 4):
            self.t.keys(key)
        self.t.settle()
        if self.rng.random() < 0.3:
            self.t.keys("1")
            self.t.settle()
            self.t.keys("6")
            self.t.settle()
        self.t.keys("\r")

    def step(self):
        acts = [(30, self.ask), (8, self.stop), (4, self.paste), (6, self.again), (4, self.edit),
                (3, self.undo), (2, self.redo), (2, self.other), (3, self.model), (4, self.session),
                (6, self.size), (5, self.look)]
        act = self.rng.choices([a for _, a in acts], [w for w, _ in acts])[0]
        self.did[act.__name__] = self.did.get(act.__name__, 0) + 1
        before = len(self.said)
        act()
        self.t.settle()
        if os.environ.get("SOAK_TRACE"):
            print(act.__name__, self.said[before:], flush=True)


def kept(path, said):
    """What chats.db lacks of what was said, and how many turns it has."""
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    rows = db.execute("SELECT role, content, finished FROM turns").fetchall()
    have = {content.strip() for role, content, _ in rows if role == "user"}
    lost = [text for text in said if text.strip() not in have]
    check = db.execute("PRAGMA integrity_check").fetchone()[0]
    return lost, len(rows), sum(not done for _, _, done in rows), check


def grown(samples):
    """The last third against the middle one: medians."""
    n = len(samples) // 3
    return [statistics.median(s[i] for s in samples[2 * n:]) /
            statistics.median(s[i] for s in samples[n:2 * n]) for i in range(2)] if n else [1, 1]


def main():
    tbtui = os.path.abspath(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 20
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    steps = int(sys.argv[4]) if len(sys.argv) > 4 else sys.maxsize
    with tempfile.TemporaryDirectory() as top:
        env = dict(os.environ, HOME=top, TBTUI_TEST="1", LC_ALL="C.UTF-8",
                   TERM=os.environ.get("SOAK_TERM", "xterm-256color"))
        subprocess.run([tbtui, "demo", top + "/store"], check=True, stdout=subprocess.DEVNULL, env=env)
        t = Terminal([tbtui, "-d", top + "/index.db", "-s", top + "/store"], env)
        p = Person(t, random.Random(seed))
        t.keys("/demo:bf16\r")
        t.settle()
        t.keys("c")
        t.settle()
        for text in ("first", "/clear"):        # two sessions to go between
            p.command(text)
            t.settle()
        p.said.append("first")
        samples, began = [], time.monotonic()
        while time.monotonic() < began + seconds and len(samples) < steps:
            p.step()
            samples.append(t.memory())
            if steps < sys.maxsize:
                time.sleep(max(0, began + seconds / steps * len(samples) - time.monotonic()))
        p.command("/bye")
        t.settle()
        t.keys("q")
        for _ in range(100):
            if os.waitpid(t.pid, os.WNOHANG)[0]:
                break
            try:
                t.drain(0.1)
            except SystemExit:
                break
        else:
            os.kill(t.pid, signal.SIGKILL)
            print("it did not end")
        lost, turns, open_, check = kept(top + "/index.db.chats.db" if os.path.exists(
            top + "/index.db.chats.db") else top + "/chats.db", p.said)
    ratio = grown(samples)
    print("%d steps (%s), %d turns kept, %d unfinished, seed %d" %
          (len(samples), ", ".join("%s %d" % x for x in sorted(p.did.items())), turns, open_, seed))
    print("resident %.1f MB at the end, %.4f of the middle; anonymous %.1f MB, %.4f" %
          (samples[-1][0] / 1e3, ratio[0], samples[-1][1] / 1e3, ratio[1]))
    for text in lost:
        print("lost: %r" % text)
    bad = bool(lost) or check != "ok" or (steps < sys.maxsize and max(ratio) > LIMIT)
    sys.exit(1 if bad else 0)


main()
