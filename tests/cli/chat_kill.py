"""chat_kill.py TBTUI DB MODEL KILLS SEED [OPTION...]: a chat that is killed at random moments and
gone on with says what one says that nobody disturbs, and has every turn that was finished."""
import json
import os
import random
import select
import signal
import subprocess
import sys
import time

tbtui, db, model, kills, seed = sys.argv[1:6]
options = sys.argv[6:]
rng = random.Random(int(seed))
QUESTIONS = ["How do I verify a model?", "Tell me more about that.", "And which key is it?",
             "Once upon a time there was a small red ball.", "Thank you. What is int4?"]


def run(*args):
    return subprocess.run([tbtui, "-d", db, *args], capture_output=True, text=True, check=True,
                          stdin=subprocess.DEVNULL).stdout


def path(session):
    """The turns from the beginning to the leaf."""
    o = json.loads(run("sessions", "export", str(session), "--as", "json"))
    by, at, out = {t["n"]: t for t in o["tree"]}, o["leaf"], []
    while at:
        out.insert(0, by[at])
        at = by[at]["parent"]
    return out


def chat(args, lines, killed):
    """What was said, and the time it took; killed after so many seconds (None: not at all)."""
    p = subprocess.Popen([tbtui, "-d", db, "--json", "chat", *args, "--temp", "0", "-n", "48",
                          *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    began = time.monotonic()
    p.stdin.write("".join(line + "\n" for line in lines).encode())
    p.stdin.close()
    out = b""
    while True:
        left = None if killed is None else began + killed - time.monotonic()
        if left is not None and left <= 0:
            p.send_signal(signal.SIGKILL)
            out += p.stdout.read()
            break
        if select.select([p.stdout], [], [], left)[0]:
            some = os.read(p.stdout.fileno(), 65536)
            if not some:
                break
            out += some
    seconds = time.monotonic() - began
    errors = p.stderr.read().decode()
    if p.wait() not in (0, -signal.SIGKILL):
        sys.exit(f"chat failed: {errors}")
    whole = out[:out.rfind(b"\n") + 1]
    return [json.loads(line) for line in whole.splitlines() if line], seconds


def wrong(what, *more):
    for m in more:
        print(m, file=sys.stderr)
    sys.exit(f"after {done} kills: {what}")


def newest():
    """The number of the newest session; 0: there is none."""
    return max([c["session"] for c in json.loads(run("sessions", "list", "--json"))["sessions"]],
               default=0)


done = middle = 0
want, seconds = chat([model], QUESTIONS, None)
texts = [a["text"] for a in want]
assert len(texts) == len(QUESTIONS)
_, alone = chat([model, "--no-keep"], [], None)


def to_the_end():
    """One chat, killed and gone on with until all is answered."""
    global done, middle
    number, before, begun, lines = None, newest(), 0, QUESTIONS
    while begun < len(QUESTIONS):
        # mostly while it speaks, sometimes while it begins; the last time not at all
        moment = rng.uniform(alone * 0.7, alone + (seconds - alone) * 0.8)
        said, _ = chat(["--session", str(number)] if number else [model], lines,
                       moment if done < int(kills) else None)
        done += done < int(kills)
        if not number:
            number = newest() if newest() > before else None
        if not number:
            if said:
                wrong("an answer was given, and no session is kept")
            continue
        turns = path(number)
        told = [t["content"] for t in turns if t["role"] == "assistant" and t["finished"]]
        if told != texts[:len(told)]:
            wrong("what is kept is not what was said", told, texts)
        if len(told) < begun + len(said):
            wrong(f"{begun + len(said)} answers were finished, {len(told)} are kept")
        if [t["content"] for t in turns if t["role"] == "user"] != QUESTIONS[:(len(turns) + 1) // 2]:
            wrong("the questions are not those that were asked", turns)
        begun = len(told)
        broken = len(turns) > 2 * begun
        middle += broken
        lines = (["/regen"] if broken else []) + QUESTIONS[begun + broken:]


while done < int(kills):
    to_the_end()
print(f"{done} kills, {middle} of them in an answer: every finished turn is kept, "
      "every next answer is the same")
