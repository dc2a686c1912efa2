"""What faults.py and kills.py share: models, runs of tbtui, and judging of stores and registries.

From the environment (tests/net/faults.sh, kills.sh): TBTUI, T (a folder), STOCK and LOCKED (addresses of
docker-registries, the second with TLS and passwords), NET_CA, NET_PEM, NET_LOGIN (NAME:PASSWORD).
"""
import base64
import fcntl
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import frame
import ollama_registry
import proxy
import put

frame.say = lambda **_: None    # nobody reads it
T = os.environ["T"]
TBTUI = os.path.abspath(os.environ["TBTUI"])
CA, PEM, LOGIN = os.environ["NET_CA"], os.environ["NET_PEM"], os.environ["NET_LOGIN"]
ENV = dict(os.environ, HOME=T + "/home", XDG_DATA_HOME=T + "/home/data", LC_ALL="C.UTF-8",
           XDG_CONFIG_HOME=T + "/home/config", DOCKER_CONFIG=T + "/docker", OPENBLAS_NUM_THREADS="1")
MANIFEST_TYPE = "application/vnd.docker.distribution.manifest.v2+json"
LIBRARY = "manifests/registry.ollama.ai/library"


# Models

def safetensors(name, n, rng):
    """One tensor of about n bytes."""
    n = max(n & ~1, 2)
    head = json.dumps({name: {"dtype": "BF16", "shape": [n // 2], "data_offsets": [0, n]}})
    head = head.encode()
    head += b" " * (-len(head) % 8)
    return len(head).to_bytes(8, "little") + head + rng.randbytes(n)


def make_model(store, name, tag, sizes, seed):
    """A tensor model with blobs of these sizes, in a store; its manifest's bytes."""
    rng = random.Random(seed)
    os.makedirs(store + "/blobs", exist_ok=True)
    layers = []

    def keep(data, **more):
        digest = hashlib.sha256(data).hexdigest()
        with open("%s/blobs/sha256-%s" % (store, digest), "wb") as f:
            f.write(data)
        return dict(more, digest="sha256:" + digest, size=len(data))

    for i, n in enumerate(sizes):
        tensor = "model.layers.%d.mlp.up_proj.weight" % i
        layers.append(keep(safetensors(tensor, n, rng), name=tensor,
                           mediaType="application/vnd.ollama.image.tensor"))
    config = keep(json.dumps({"model_format": "safetensors", "model_family": "test", "architecture":
                              "amd64", "os": "linux", "seed": seed}).encode(),
                  mediaType="application/vnd.docker.container.image.v1+json")
    text = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": config,
                       "layers": layers}).encode()
    path = "%s/%s/%s/%s" % (store, LIBRARY, name, tag)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(text)
    return text


def layers_of(text):
    """digest: size"""
    doc = json.loads(text)
    return {x["digest"]: x["size"] for x in doc["layers"] + [doc["config"]]}


# Runs

def beside(store, suffix):
    """Where something of a store lies that is none of its own: not on its disk, which may be full."""
    return "%s/%s%s" % (T, os.path.basename(store), suffix)


def command(store, *words):
    return [TBTUI, "-t", "1", "-s", store, "-d", beside(store, ".db"), *words]


def run(store, *words, timeout=300, **env):
    """Exit status, and what was said on standard output and error."""
    try:
        p = subprocess.run(command(store, *words), env=dict(ENV, **env), stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=timeout)
    except subprocess.TimeoutExpired as e:
        return None, "hangs: %s" % " ".join(words), (e.stderr or b"").decode(errors="replace")
    return p.returncode, p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace")


def begin(store, *words, **env):
    with open(beside(store, ".said"), "ab") as said:
        return subprocess.Popen(command(store, *words), env=dict(ENV, **env),
                                stdin=subprocess.DEVNULL, stdout=said, stderr=said)


def kill(child):
    """Whether it was still there."""
    there = child.poll() is None
    if there:
        child.send_signal(signal.SIGKILL)
    child.wait()
    return there


def crashed(rc, err):
    """Why an end is none that a program may have."""
    if rc is None:
        return "it hangs"
    if rc < 0 or rc > 100 or "Sanitizer" in err or "runtime error" in err:
        return "it ended by %d" % rc
    if rc and not err.strip():
        return "exit status %d without a word" % rc
    return None


# Judging: read here, with nothing of the program's

def sha256(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        for data in iter(lambda: f.read(1 << 20), b""):
            h.update(data)
    return h.hexdigest()


def judge(store):
    """What is wrong with what can be seen of a store, or None."""
    blobs = store + "/blobs"
    names = os.listdir(blobs) if os.path.isdir(blobs) else []
    for name in names:
        if not re.fullmatch("sha256-[0-9a-f]{64}", name):
            return "blobs/%s has no business there" % name
        if "sha256-" + sha256("%s/%s" % (blobs, name)) != name:
            return "blobs/%s has other bytes" % name
    for folder, _, files in os.walk(store + "/manifests"):
        for f in files:
            path = os.path.join(folder, f)
            if f.startswith("."):
                continue
            with open(path, "rb") as text:
                for digest, size in layers_of(text.read()).items():
                    blob = "%s/%s" % (blobs, digest.replace(":", "-"))
                    if not os.path.exists(blob) or os.path.getsize(blob) != size:
                        return "%s names %s, which is not there" % (f, digest)
    return None


def has(store, text, name, tag):
    """Is it there with these bytes?  None: yes."""
    for folder, _, files in os.walk(store + "/manifests"):
        for f in files:
            path = os.path.join(folder, f)
            if f == tag and os.path.basename(folder) == name:
                return None if open(path, "rb").read() == text else "another manifest"
    return "no manifest"


def left(store):
    """Paths of what lies in a pull folder."""
    folder = store + "/.tbtui/pull"
    return [os.path.join(folder, f) for f in os.listdir(folder)] if os.path.isdir(folder) else []


PAGE = 4096


def on_disk(store, source, text):
    """Bytes of the model that lie somewhere in the store and are right, in pages of 4 kB."""
    there = 0
    for digest in layers_of(text):
        with open("%s/blobs/%s" % (source, digest.replace(":", "-")), "rb") as f:
            want = f.read()
        hexa = digest.partition(":")[2]
        best = 0
        for path in [p for p in left(store) if hexa in os.path.basename(p)] + [
                "%s/blobs/sha256-%s" % (store, hexa)]:
            if os.path.isfile(path) and not path.endswith(".parts"):
                with open(path, "rb") as f:
                    got = f.read()
                best = max(best, sum(len(want[i:i + PAGE]) for i in range(0, len(want), PAGE)
                                     if want[i:i + PAGE] == got[i:i + PAGE]))
        there += best
    return there


# Registries, each behind a proxy of its own

KINDS = ["stock", "locked", "ollama"]


class Place:
    """A registry behind a proxy.  `direct` asks it beside the proxy."""

    def __init__(self, kind, rate=0):
        self.kind = kind
        self.store = None
        if kind == "ollama":
            self.store = T + "/ollama"
            os.makedirs(self.store + "/blobs", exist_ok=True)
            state = ollama_registry.State(self.store, None, 3600, "plain")
            cdn = frame.serve(ollama_registry.Cdn, state=state)
            server = frame.serve(ollama_registry.Registry, state=state, cdn=cdn)
            self.url = "http://127.0.0.1:%d" % server.port
            self.state = proxy.State(self.url, rate=rate)
            ports = proxy.start(self.state, also="http://127.0.0.1:%d" % cdn.port)
        elif kind == "locked":
            self.url = os.environ["LOCKED"]
            self.state = proxy.State(self.url, CA, LOGIN, rate=rate)
            ports = proxy.start(self.state, PEM)
        else:
            self.url = os.environ["STOCK"]
            self.state = proxy.State(self.url, rate=rate)
            ports = proxy.start(self.state)
        self.port = ports["port"]
        self.scheme = "https" if kind == "locked" else "http"
        self.env = {"SSL_CERT_FILE": CA} if kind == "locked" else {}
        self.direct = put.Registry(self.url, LOGIN if kind == "locked" else None, CA)

    def name(self, repo, tag):
        return "%s://127.0.0.1:%d/%s:%s" % (self.scheme, self.port, repo, tag)

    def put(self, store, name, tag, repo):
        put.put(self.direct, store, "%s/%s/%s/%s" % (store, LIBRARY, name, tag), repo, tag)

    def got(self, repo, tag):
        """The bytes of the manifest that is there, or None."""
        if self.store:
            path = "%s/manifests/registry.ollama.ai/%s/%s" % (self.store, repo, tag)
            return open(path, "rb").read() if os.path.exists(path) else None
        status, _, text = self.direct.ask("GET", "/v2/%s/manifests/%s" % (repo, tag),
                                          Accept=MANIFEST_TYPE)
        return text if status == 200 else None

    def has(self, repo, digest):
        if self.store:
            return os.path.exists("%s/blobs/%s" % (self.store, digest.replace(":", "-")))
        return self.direct.ask("HEAD", "/v2/%s/blobs/%s" % (repo, digest))[0] == 200

    def judge(self, repo, text):
        """Has it every blob of that manifest in that repository, with the right bytes?"""
        for digest, size in layers_of(text).items():
            if self.store:
                path = "%s/blobs/%s" % (self.store, digest.replace(":", "-"))
                right = os.path.exists(path) and "sha256:" + sha256(path) == digest
            else:
                status, _, data = self.direct.ask("GET", "/v2/%s/blobs/%s" % (repo, digest))
                right = status == 200 and "sha256:" + hashlib.sha256(data).hexdigest() == digest
            if not right:
                return "%s has no right %s" % (repo, digest)
        return None


def login(places):
    """What a user has who has logged in with Docker."""
    os.makedirs(T + "/docker", exist_ok=True)
    auth = {"auth": base64.b64encode(LOGIN.encode()).decode()}
    with open(T + "/docker/config.json", "w") as f:
        json.dump({"auths": {"127.0.0.1:%d" % p.port: auth for p in places
                             if p.kind == "locked"}}, f)
    os.chmod(T + "/docker/config.json", 0o600)


def fresh(name):
    """A store's path, with nothing there."""
    path = "%s/%s" % (T, name)
    for p in (path, beside(path, ".db"), beside(path, ".said")):
        if os.path.isdir(p):
            shutil.rmtree(p)
        elif os.path.exists(p):
            os.unlink(p)
    os.makedirs(path + "/blobs")
    os.makedirs(path + "/manifests")
    return path
