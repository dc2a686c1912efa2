#!/usr/bin/env python3
"""corpus.py [-s SEED] [-n TEXTS] DIR: conversations and prose from the facts in DIR/*.txt, as
data/demo/train reads them.  Each fact is asked in many ways; the same seed gives the same texts."""
import argparse
import glob
import itertools
import os
import random
import re
import sys

DO = """How do I X?|How can I X?|How to X?|how to X|How would I X?|How does one X?|How could I X?
What is the way to X?|What do I do to X?|What should I do to X?|What must I do to X?|Is there a way to X?
Is it possible to X?|Can I X?|Could you tell me how to X?|Can you explain how to X?|Tell me how to X.
Show me how to X.|I want to X.|I would like to X.|I need to X.|I'd like to X, how?|How do you X?
I want to X, what do I do?|Help me X.|Explain how to X.|What if I want to X?|Where can I X?|X?|X
How am I supposed to X?|Do you know how to X?|What's the best way to X?|I have to X. How?|I must X.
I am trying to X.|I don't know how to X.|What is needed to X?|Is there something to X?|How is it done: X?
How might I X?|Any way to X?|how do i X|how can i X|i want to X|Please X.|Could I X?|What helps me to X?
How do we X?|How do people X?|I wonder how to X.|Is there any way I can X?|What do I have to do to X?
A friend asked how to X.|Suppose I want to X.|What would you do to X?|My problem is how to X.|I was told one can X.
Is it hard to X?|Can one X?|Can it X?|Can tbtui X?|Does it X?|May I X?|Let me X.|I hope to X.|Time to X.|I'd love to X.
How do I go about Z?|What do I need to X?|What does one do to X?|Can you X?|Would you X for me?|Are there ways to X?
The question is how to X.|I plan to X.|My boss wants me to X.|Today I want to X.|I have no idea how to X.|How shall I X?
What about Z?|How about Z?|I have trouble Z.|Explain Z.|How does Z work?|Z?|Z|Tell me about Z.|I am interested in Z.""".replace("\n", "|").split("|")
KEYED = """Which key do I press to X?|What do I press to X?|Which key lets me X?|What key do I use to X?
Is there a key to X?|What is the key to X?|Which key should I use to X?|Which key Ys?|What key Ys?
Which button do I press to X?|key to X|key for Z|Which key is for Z?|What do I hit to X?|the key for Z?
Which key must I press to X?|With which key do I X?|What is the shortcut to X?|Give me the key to X.|Which letter Ys?
Is there a shortcut for Z?|Which key can I press to X?|What is the key for Z?|Name the key that Ys.""".replace("\n", "|").split("|")
COMMANDED = """Which command do I use to X?|What command lets me X?|What is the command to X?|Which command Ys?
What command Ys?|Give me the command to X.|Is there a command to X?|With what command do I X?|command to X
What do I type to X?|Which command is for Z?|What is the command for Z?|command for Z|What must I type to X?
How do I X from the shell?|Is there a command that Ys?|How do I X in a script?|Which command should I use to X?
Name the command that Ys.|What should I type to X?|Which command can I use to X?|How do I X in a terminal?""".replace("\n", "|").split("|")
IS = """What is X?|What does X mean?|Explain X.|Explain X to me.|Tell me about X.|Tell me what X is.|X|X?
Can you explain X?|Describe X.|What do you know about X?|Define X.|What exactly is X?|I do not understand X.
What is meant by X?|I have never heard of X.|What is X good for?|What is X for?|How does X work?|what's X
What is the meaning of X?|What is the purpose of X?|Do you know what X is?|What is the point of X?|what is X
Give me a short explanation of X.|Could you explain X?|What kind of thing is X?|Please explain X.|What are X?
What should I know about X?|In short, what is X?|I want to know what X is.|What do people mean by X?|meaning of X""".replace("\n", "|").split("|")
COMMAND = """What does X do?|What is X for?|Explain X.|When do I use X?|How do I use X?|Tell me about X.
What is the use of X?|What is X good for?|What happens with X?|X|X?|Describe X.|What is X?|Can you explain X?
What can I do with X?|I do not understand X.|What will X do?|Why would I use X?""".replace("\n", "|").split("|")
KEY = """What does X do S?|What is X for S?|What happens if I press X S?|What happens when I press X S?|X S?
X S|What is X S?|Explain X S.|What does X mean S?|What do I get with X S?|Tell me what X does S.|what does X do S
What will X do S?|When do I press X S?|What can I do with X S?|I pressed X S, what happened?|What is the use of X S?""".replace("\n", "|").split("|")
AT = {
    "any": ["", "", "on every screen", "on a screen", "in tbtui", "in the program"],
    "Chat": ["in the chat", "in the chat", "on the Chat screen", "in Chat", "while I chat", "in the chat screen", "in a conversation"],
    "Models": ["on the Models screen", "on Models", "in the list of models", "on the models screen", "in the model list"],
    "Undo": ["on the Undo screen", "on Undo", "in the undo screen"],
    "Run": ["on the Run screen", "on the screen of a verify run", "in the findings"],
}
ALIKE = """delete remove drop erase|damaged broken corrupt corrupted rotten defective|check verify|look at|see view inspect watch know|show display|find discover detect spot
answer reply response output|message text|convert quantize|conversation chat talk dialogue discussion|stop halt interrupt end|press hit push
model network llm bot assistant|tensor weight|store folder directory place|list show|begin start launch|change alter modify|choose pick select take
write save|quit exit leave|compare contrast|measure test determine|big large huge heavy|small little tiny short|wrong bad|keep preserve
get obtain receive have|print output|program tool software|question prompt|several many|whole entire|copy duplicate|limit restrict
fix repair mend correct|bring take|another different|size length|unused useless|equal same identical|earlier old previous
read open|error fault|clear wipe|resume continue|typing writing|rows lines|setting option parameter|rename retitle|disk drive|machine computer laptop|memory ram|values numbers|picture chart|internet network|mistake error|forever permanently|fast quick|shell terminal|key shortcut button|file document|screen view|together jointly|quickly fast|text words|bytes data|free empty|weights parameters|notes remarks|shut close|old former|faster quicker|histogram chart|twice double|need require|use employ|wish want|also too|cut split|several some|make create produce|give provide|put place|next following|first initial|move go|name call|look peek|learn know|use apply"""
GROUPS = {}
for group in ALIKE.replace("\n", "|").split("|"):
    words = group.split()
    for word in words:
        if len(words) > 1:
            GROUPS.setdefault(word, set()).update(w for w in words if w != word)
GROUPS = {k: sorted(v) for k, v in GROUPS.items()}
SMALL = {"the", "a", "an", "of", "to", "is", "do", "my", "me", "in", "on", "with", "are"}
BEFORE = ["Please: ", "Hello. ", "Hi, ", "Excuse me, ", "Ok, ", "And ", "So ", "Well, ", "Now, ", "Quick question: ",
          "Sorry, ", "Tell me, ", "Next: ", "One more thing: ", "Say, "]
AFTER = [" please", " Thanks.", " Thank you!", " in tbtui", " here", " with tbtui", " now", " quickly", " in this program"]
FILL = """again|really|just|somehow|finally|actually|simply|maybe|today|at home|on my laptop|on this machine|for my friend
after lunch|right now|at once|as a beginner|without much work|by myself|in the evening|this time|for once|later
if possible|in general|sometimes|exactly|properly|safely|from here|before I go|all of a sudden|as usual""".replace("\n", "|").split("|")
SCREEN = re.compile(r" (on the (\w+ )?screen|with (a|one) keys?|with keys)\b")
LINE = re.compile(r" on the command line\b")


class Fact:
    def __init__(self, lines, answer):
        self.answer = answer
        self.ways = []          # (kind, what)
        for kind, text in lines:
            for what in text.split(" | "):
                plain = kind == "do" and re.match(r"(I|it|the) ", what.strip())
                self.ways.append(("ask" if plain else kind, what.strip()))
        self.weight = 4 + min(len(self.ways), 12)
        self.keyed = any(k == "key" for k, _ in lines) or " press " in " " + answer.lower()
        self.typed = '"' in answer or "Type /" in answer


def read_facts(path):
    facts, lines = [], []
    for line in open(path):
        line = line.rstrip("\n")
        if not line or line.startswith("#"):
            continue
        if line.startswith("= "):
            facts.append(Fact(lines, line[2:]))
            lines = []
        else:
            kind, text = line.split(": ", 1)
            if kind not in ("do", "is", "cmd", "key", "ask"):
                sys.exit(f"{path}: what is {line!r}?")
            lines.append((kind, text))
    return facts


def third(phrase):
    verb, _, rest = phrase.partition(" ")
    if verb == "have":
        verb = "has"
    elif re.search(r"[^aeiou]y$", verb):
        verb = verb[:-1] + "ies"
    elif re.search(r"(s|x|sh|ch|o)$", verb):
        verb += "es"
    else:
        verb += "s"
    return f"{verb} {rest}".strip()


def gerund(phrase):
    verb, _, rest = phrase.partition(" ")
    if re.search(r"[^aeiou][aeiou][bdgmnprt]$", verb) and verb not in ("open", "render", "index", "enter", "filter", "order", "answer", "recover"):
        verb += verb[-1]
    elif verb.endswith("e") and verb not in ("see", "be"):
        verb = verb[:-1]
    return f"{verb}ing {rest}".strip()


def alike(r, text, often):
    out = []
    for word in text.split(" "):
        m = re.match(r"^([a-z]+)(.*)$", word)
        if m and m[1] in GROUPS and r.random() < often:
            word = r.choice(GROUPS[m[1]]) + m[2]
        elif word in SMALL and r.random() < .04:
            continue
        out.append(word)
    return " ".join(out)


def slip(r, text):
    i = r.randrange(len(text))
    if not text[i].isalpha() or not text[i - 1:i].isalpha():
        return text
    how = r.randrange(4)
    if how == 0:
        return text[:i] + text[i + 1:]
    if how == 1:
        return text[:i] + text[i] + text[i:]
    if how == 2 and i + 1 < len(text):
        return text[:i] + text[i + 1] + text[i] + text[i + 2:]
    return text[:i] + r.choice("abcdefghijklmnopqrstuvwxyz") + text[i + 1:]


def fill(r, text):
    """Words that change nothing, or one fewer."""
    words = text.split(" ")
    at = r.randrange(1, len(words) + 1)
    if r.random() < .4 and len(words) > 4:
        del words[at - 1]
    elif at == len(words):
        words[-1] = re.sub(r"([?.!]?)$", lambda m: " " + r.choice(FILL) + m[1], words[-1], count=1)
    else:
        words.insert(at, r.choice(FILL))
    return " ".join(words)


def put(form, x, s=""):
    """Every capital on its own is a place."""
    out = re.sub(r"\bX\b|\bYs\b|\bZ\b|\bS\b",
                 lambda m: {"X": x, "Ys": third(x), "Z": gerund(x), "S": s}[m[0]], form)
    return re.sub(r" +([?.,]|$)", r"\1", re.sub(r"  +", " ", out)).strip()


def ask_do(r, fact, what):
    kinds = [(DO, 6)]
    if fact.keyed:
        kinds.append((KEYED, 4))
    if fact.typed:
        kinds.append((COMMANDED, 3))
    forms = r.choices([k for k, _ in kinds], [w for _, w in kinds])[0]
    if forms is KEYED or (fact.keyed and r.random() < .2):
        what = SCREEN.sub("", what)
    if forms is COMMANDED:
        what = LINE.sub("", what)
    return put(r.choice(forms), alike(r, what, .25))


def ask_key(r, what):
    key, screen = [s.strip() for s in what.split(" @ ")]
    at = AT.get(screen) or [f"on the {screen} screen", f"on {screen}", f"on the {screen.lower()} screen", f"in {screen}"]
    name = r.choice([key, key, f"the key {key}", f"the {key} key", f"'{key}'", f'"{key}"', f"key {key}"])
    form = r.choice(KEY)
    if "press" in form:
        name = key
    return put(form, name, r.choice(at))


def ask_cmd(r, what):
    name = r.choice([f"tbtui {what}", f"tbtui {what}", f"the command {what}", f"the {what} command",
                     f'"tbtui {what}"', f"command {what}", f"the command tbtui {what}", what])
    return put(r.choice(COMMAND), name)


def ask_is(r, what):
    if r.random() < .25:
        what = re.sub(r"^(a|an|the) ", "", what)
    return put(r.choice(IS), what)


def ask(r, fact):
    kind, what = r.choice(fact.ways)
    if kind == "do":
        q = ask_do(r, fact, what)
    elif kind == "key":
        q = ask_key(r, what)
    elif kind == "cmd":
        q = ask_cmd(r, what)
    elif kind == "is":
        q = ask_is(r, what)
    else:
        q = alike(r, what, .15)
    if kind != "key" and r.random() < .15:
        q = fill(r, q)
    if kind != "ask" and r.random() < .1:
        q = r.choice(BEFORE) + q[0].lower() + q[1:]
    if kind != "ask" and r.random() < .1:
        q = re.sub(r"([?.]?)$", lambda m: r.choice(AFTER) + m[1], q, count=1)
    exact = kind in ("key",)
    if not exact and r.random() < .5 and q[0].islower():
        q = q[0].upper() + q[1:]
    if not exact and r.random() < .25:
        q = q.lower()
    if r.random() < .25:
        q = q.rstrip("?.")
    if not exact and len(q) > 12:
        for _ in range(r.choice([0, 0, 0, 0, 0, 0, 1, 1, 2])):
            q = slip(r, q)
    return q


NAMES = "Anna Ben Clara David Ella Fred Greta Hugo Ida Jack Lena Max Nora Otto Paula Tim".split()
PLACES = ["the garden", "the forest", "the kitchen", "the library", "the harbour", "the old mill", "the market", "the school", "the river", "the attic"]
THINGS = ["a red ball", "an old key", "a small box", "a letter", "a blue stone", "a lamp", "a wooden boat", "a map", "a silver coin", "a warm coat"]
BEASTS = ["a cat", "a dog", "a grey mouse", "a bird", "a fox", "an owl", "a hedgehog", "a duck"]
MOODS = ["happy", "tired", "curious", "brave", "quiet", "hungry", "glad", "sleepy"]
DAYS = ["One morning", "One evening", "On a rainy day", "In the summer", "One cold winter day", "On Sunday", "Late at night", "After school"]


def story(r):
    a, b = r.sample(NAMES, 2)
    place, other = r.sample(PLACES, 2)
    thing, beast = r.choice(THINGS), r.choice(BEASTS)
    it, animal = "the " + thing.split(" ", 1)[1], "the " + beast.split(" ", 1)[1]
    day, mood, mood2 = r.choice(DAYS), *r.sample(MOODS, 2)
    begin = r.choice([
        f"{day} {a} went to {place} and found {thing}.",
        f"{day} {a} and {b} walked to {place}. There lay {thing}.",
        f"{a} was {mood}. {day} {a} looked for {thing} in {place}.",
        f"Once there was {beast} that lived near {place}. {day} it met {a}.",
    ])
    middle = r.sample([
        f"{a} asked {b} what it was.",
        f"{b} did not know, but {b} wanted to help.",
        f"They took {it} and carried it to {other}.",
        f"Then {beast} came and looked at {it}.",
        f"{animal.capitalize()} was {mood2} and sat down beside {a}.",
        f"It began to rain, so they waited in {other}.",
        f"\"Do not be afraid,\" said {b}.",
        f"\"Whose is it?\" asked {a}.",
        f"They looked everywhere, but nobody was there.",
        f"{b} laughed and said that it was a good day.",
    ], r.randint(2, 5))
    end = r.choice([
        f"In the evening they went home, and {a} was {mood2}.",
        f"At last {a} gave {it} to {b}, and both were happy.",
        f"{a} put {it} into a drawer and never forgot that day.",
        f"From that day on {animal} came to {place} every week.",
        f"Then everybody was {mood2}, and they slept well that night.",
    ])
    return " ".join([begin, *middle, end])


def sentences(r, facts, prose):
    kind = r.random()
    if kind < .35:
        at = r.randrange(len(facts))
        return " ".join(f.answer for f in facts[at:at + r.randint(2, 5)])
    if kind < .6:
        return r.choice(prose)
    return " ".join(story(r) for _ in range(r.randint(1, 3)))


def text(r, facts, cum, prose):
    if r.random() < .12:
        return "P " + sentences(r, facts, prose) + "\n\n"
    turns = r.choices([1, 2, 3, 4, 6, 9, 14], [40, 20, 12, 10, 8, 6, 4])[0]
    out = []
    if r.random() < .05:
        out.append("S " + r.choice(["You are a helpful assistant.", "Answer shortly.", "You help with tbtui.",
                                    "You are the demo model of tbtui."]))
    for _ in range(turns):
        fact = r.choices(facts, cum_weights=cum)[0]
        out += ["U " + ask(r, fact), "A " + fact.answer]
    return "\n".join(out) + "\n\n"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("-s", type=int, default=1)
    p.add_argument("-n", type=int, default=1000)
    p.add_argument("dir")
    a = p.parse_args()
    r = random.Random(a.s)
    facts = []
    for path in sorted(glob.glob(os.path.join(a.dir, "*.txt"))):
        if os.path.basename(path) != "prose.txt":
            facts += read_facts(path)
    prose = [s.strip() for s in open(os.path.join(a.dir, "prose.txt")) if s.strip() and not s.startswith("#")]
    cum = list(itertools.accumulate(f.weight for f in facts))
    for _ in range(a.n):
        sys.stdout.write(text(r, facts, cum, prose))


if __name__ == "__main__":
    main()
