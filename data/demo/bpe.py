#!/usr/bin/env python3
"""bpe.py -v SIZE TEXTS DIR: a byte-level BPE vocabulary learned from TEXTS (see train.c), as
DIR/tokenizer.json, and what a chat needs beside it.  Nothing depends on chance."""
import argparse
import collections
import heapq
import json
import os
import re

SPECIALS = ["<|begin|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
# GPT-2's, for texts of ASCII alone
WORDS = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")
TEMPLATE = ("{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>"
            "{{ message['content'] | trim }}<|end|>{% endfor %}"
            "{% if add_generation_prompt %}<|assistant|>{% endif %}")


def letters():
    """A visible character for each byte, as byte-level tokenizers write them."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in visible]
    table = {b: chr(b) for b in visible}
    table.update({b: chr(256 + i) for i, b in enumerate(hidden)})
    return table


def count_words(path):
    words = collections.Counter()
    for line in open(path, encoding="ascii"):
        line = line.rstrip("\n")
        if line:
            words.update(WORDS.findall(line[2:]))
    return words


def learn(counts, size):
    """The pair that is most frequent becomes a piece, again and again; ties by the alphabet."""
    table = letters()
    words = [([table[ord(c)] for c in w], n) for w, n in sorted(counts.items())]
    pairs, where = collections.Counter(), collections.defaultdict(set)
    for i, (w, n) in enumerate(words):
        for p in zip(w, w[1:]):
            pairs[p] += n
            where[p].add(i)
    heap = [(-n, p) for p, n in pairs.items()]
    heapq.heapify(heap)
    merges = []
    while len(merges) < size and heap:
        n, best = heapq.heappop(heap)
        if pairs[best] != -n:
            if pairs[best] > 0:
                heapq.heappush(heap, (-pairs[best], best))
            continue
        merges.append(best)
        touched = set()
        for i in where.pop(best):
            w, n = words[i]
            for p in zip(w, w[1:]):
                pairs[p] -= n
                touched.add(p)
            out, k = [], 0
            while k < len(w):
                if k + 1 < len(w) and (w[k], w[k + 1]) == best:
                    out.append(w[k] + w[k + 1])
                    k += 2
                else:
                    out.append(w[k])
                    k += 1
            words[i] = (out, n)
            for p in zip(out, out[1:]):
                pairs[p] += n
                where[p].add(i)
                touched.add(p)
        pairs[best] = 0
        for p in sorted(touched):
            if pairs[p] > 0:
                heapq.heappush(heap, (-pairs[p], p))
    return merges


def tokenizer(merges):
    table = letters()
    vocab = {table[b]: b for b in range(256)}
    for a, b in merges:
        vocab[a + b] = len(vocab)
    special = [{"id": len(vocab) + i, "content": s, "single_word": False, "lstrip": False,
                "rstrip": False, "normalized": False, "special": True} for i, s in enumerate(SPECIALS)]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    begin = {"SpecialToken": {"id": SPECIALS[0], "type_id": 0}}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
        "normalizer": None, "pre_tokenizer": level,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [begin, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [begin, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {SPECIALS[0]: {"id": SPECIALS[0], "ids": [special[0]["id"]], "tokens": [SPECIALS[0]]}},
        },
        "decoder": level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                  "vocab": vocab, "merges": [f"{a} {b}" for a, b in merges]},
    }


def write(folder, name, doc):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        json.dump(doc, f, ensure_ascii=False, indent=None if name == "tokenizer.json" else 2)
        f.write("\n")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("-v", type=int, default=2048)
    p.add_argument("texts")
    p.add_argument("dir")
    a = p.parse_args()
    merges = learn(count_words(a.texts), a.v - 256 - len(SPECIALS))
    os.makedirs(a.dir, exist_ok=True)
    write(a.dir, "tokenizer.json", tokenizer(merges))
    write(a.dir, "tokenizer_config.json", {
        "bos_token": SPECIALS[0], "eos_token": SPECIALS[1], "model_max_length": 1024,
        "tokenizer_class": "PreTrainedTokenizerFast", "chat_template": TEMPLATE})
    write(a.dir, "generation_config.json", {
        "bos_token_id": a.v - len(SPECIALS), "eos_token_id": a.v - len(SPECIALS) + 1,
        "do_sample": False, "temperature": 0.0, "repetition_penalty": 1.0})


if __name__ == "__main__":
    main()
