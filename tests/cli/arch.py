"""arch.py TBTUI FOLDER FILE MODEL...: does it compute what the reference in FOLDER/FILE says?

Logits of the ten best tokens within 1e-3, their order, the ids that follow, and the mean of
negative logarithms over a text.  Prints what differs, and exits with the number of models
that do.  MODEL is whatever `generate` takes; a first "store=DIR" is --store."""
import json, os, subprocess, sys, tempfile

tbtui, folder, file = sys.argv[1:4]
models = sys.argv[4:]
options = ["--exact"]
if models[0].startswith("store="):
    options += ["--store", models.pop(0)[6:]]
want = json.load(open(os.path.join(folder, file)))
reference = json.load(open(os.path.join(folder, "reference.json")))
names = reference["prompts"]
vocab = json.load(open(os.path.join(folder, "hf", "tokenizer.json")))["model"]["vocab"]
pieces = {n: piece for piece, n in vocab.items()}
slack = float(os.environ.get("ARCH_SLACK", "1e-3"))


def run(*args):
    p = subprocess.run([tbtui, *args, "--json", *options], capture_output=True, text=True)
    if p.returncode:
        raise ValueError("%s: status %d: %s" % (args[0], p.returncode, p.stderr.strip()))
    return json.loads(p.stdout.strip().splitlines()[-1])


def look(model):
    for n, (p, name) in enumerate(zip(want["prompts"], names)):
        got = run("logits", model, "-p", name["prompt"], "--top", "10")
        top = p["first_logits_top10"]
        ids = [t["id"] for t in got["top"]]
        off = max(abs(a["logit"] - b["logit"]) for a, b in zip(got["top"], top))
        if ids != [t["id"] for t in top] or off > slack:
            raise ValueError("prompt %d: logits off by %g, ids %s, not %s" %
                             (n, off, ids, [t["id"] for t in top]))
        got = run("generate", model, "--raw", "-p", name["prompt"], "--temp", "0", "-n",
                  str(len(p["greedy_ids"])), "--ignore-eos")
        if got["prompt_ids"] != p["prompt_ids"]:
            raise ValueError("prompt %d: ids %s" % (n, got["prompt_ids"]))
        if got["ids"] != p["greedy_ids"]:
            raise ValueError("prompt %d: %s follow, not %s" % (n, got["ids"], p["greedy_ids"]))
    ids = reference["perplexity"]["ids"][1:]
    with tempfile.NamedTemporaryFile("w") as f:
        f.write("".join(pieces[i] for i in ids).replace("\u2581", " ").strip())
        f.flush()
        got = run("perplexity", model, f.name)
    if got["tokens"] != len(ids) or abs(got["nll"] - want["mean_nll"]) > slack:
        raise ValueError("a text of %d tokens, not %d: %g, not %g" %
                         (got["tokens"], len(ids), got["nll"], want["mean_nll"]))


bad = 0
for model in models:
    try:
        look(model)
    except (ValueError, KeyError, IndexError, OSError) as e:
        print("%s: %s" % (model, e))
        bad += 1
sys.exit(bad)
