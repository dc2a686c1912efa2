"""hub_hf.py CACHE REPO REVISION COMMIT FILE... - does huggingface_hub take what lies in a cache?

Without a network: the cache is scanned without a warning, the snapshot is found by its revision,
and each file in it.  Exit status 77: there is no huggingface_hub.
"""
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import huggingface_hub
except ImportError:
    sys.exit(77)

cache, repo, revision, commit, *names = sys.argv[1:]
info = huggingface_hub.scan_cache_dir(cache)
assert not info.warnings, info.warnings
found = {r.repo_id: r for r in info.repos}[repo]
assert found.repo_type == "model"
revisions = {r.commit_hash: r for r in found.revisions}
assert revision in revisions[commit].refs, revisions[commit].refs
assert {f.file_name for f in revisions[commit].files} >= {os.path.basename(n) for n in names}
path = huggingface_hub.snapshot_download(repo, revision=revision, cache_dir=cache,
                                         local_files_only=True)
assert os.path.basename(path) == commit, path
for name in names:
    file = huggingface_hub.hf_hub_download(repo, name, revision=revision, cache_dir=cache,
                                           local_files_only=True)
    assert os.path.samefile(file, os.path.join(path, name)), file
print("huggingface_hub %s takes %d files" % (huggingface_hub.__version__, len(names)))
