"""demo_encode.py TOKENIZER_JSON TEXT: its ids, by the plainest way there is."""
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["TBTUI_SRC"], "data/demo"))
import bpe

model = json.load(open(sys.argv[1], encoding="utf-8"))["model"]
rank = {tuple(m.split(" ")): i for i, m in enumerate(model["merges"])}
table = bpe.letters()
ids = []
for word in bpe.WORDS.findall(sys.argv[2]):
    pieces = [table[b] for b in word.encode()]
    while True:
        at = min(range(len(pieces) - 1), default=None,
                 key=lambda i: rank.get((pieces[i], pieces[i + 1]), len(rank)))
        if at is None or (pieces[at], pieces[at + 1]) not in rank:
            break
        pieces[at:at + 2] = [pieces[at] + pieces[at + 1]]
    ids += [model["vocab"][p] for p in pieces]
print(",".join(map(str, ids)))
