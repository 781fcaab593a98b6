"""A clone that is only read, and projects with overlays on it. No part of overlaid's own logic is used here: what
these scripts know of a history, they know from git."""

import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

CLEAN = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}


def program():
    """The program: $OVERLAID, or built here."""
    if "OVERLAID" in os.environ:
        return os.environ["OVERLAID"]
    subprocess.run(["cargo", "build", "--release", "--locked", "--quiet"], cwd=ROOT, check=True)
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    return str(pathlib.Path(target) / "release" / "overlaid")


class Clone:
    def __init__(self, path):
        self.path = pathlib.Path(path).resolve()
        self.blobs = subprocess.Popen(
            ["git", "-C", str(self.path), "cat-file", "--batch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=CLEAN,
        )

    def git(self, *args):
        done = subprocess.run(["git", "-C", str(self.path), *args], env=CLEAN, capture_output=True, check=True)
        return done.stdout.decode("utf-8", "surrogateescape")

    def read(self, name):
        """The bytes of an object, or None."""
        self.blobs.stdin.write(name.encode("utf-8", "surrogateescape") + b"\n")
        self.blobs.stdin.flush()
        head = self.blobs.stdout.readline().split()
        if head[-1] == b"missing":
            return None
        content = self.blobs.stdout.read(int(head[-1]))
        self.blobs.stdout.read(1)
        return content


class Project:
    """A repository of ours in a temporary folder."""

    def __init__(self, folder, cache=None):
        self.folder = pathlib.Path(folder)
        self.cache = cache or self.folder / "cache"

    def write(self, path, content):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())

    def manifest(self, name, clone, pin, overlays, branch=None):
        lines = ["version = 1", "[upstream]", f'name = "{name}"', f'url = "{clone.path}"', f'pin = "{pin}"']
        if branch:
            lines.append(f'branch = "{branch}"')
        for overlay in overlays:
            lines.append("[[overlay]]")
            lines += [f"{key} = {json.dumps(value)}" for key, value in overlay.items()]
        self.write(f"manifests/{name}.toml", "\n".join(lines) + "\n")

    def run(self, program, *args):
        env = {**CLEAN, "HOME": str(self.folder), "XDG_CACHE_HOME": str(self.cache)}
        return subprocess.run([program, *args], cwd=self.folder, env=env, capture_output=True)

    def status(self, program, *args):
        done = self.run(program, *args, "status", "--json")
        if not done.stdout:
            raise SystemExit(f"status failed: {done.stderr.decode()}")
        return {overlay["name"]: overlay for overlay in json.loads(done.stdout)["overlays"]}


COMMENTS = {
    ".py": b"# ours: %s\n",
    ".cmake": b"# ours: %s\n",
    ".toml": b"# ours: %s\n",
    ".sh": b"# ours: %s\n",
}


def comment_line(path, text):
    """A line of comment for a file of this name."""
    form = COMMENTS.get(os.path.splitext(path)[1], b"// ours: %s\n")
    return form % text.encode()
