#!/usr/bin/env python3
"""check_image.py FOLDER: tries the OCI image in FOLDER as a machine for containers would run it, as root: its
root is read only, its user is its own, and it has a directory for its jobs and a folder with passwords. No
runtime of containers is needed: unshare makes the namespaces, chroot changes the root and the user.
Without root or without namespaces it is skipped, with a line.
"""

import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
PATIENCE_S = 60
PASSWORD = "open sesame"

# Begins in namespaces of its own: only there is a root mounted, and loopback is not that of the machine.
INSIDE = r"""
set -eu
root=$1 user=$2
shift 2
mount --bind "$root" "$root"
mount -t tmpfs -o mode=0700,uid="${user%:*}",gid="${user#*:}" tmpfs "$root/var/lib/elapse"
mount -t tmpfs -o mode=0755 tmpfs "$root/etc/elapse"
mount -t proc -o ro proc "$root/proc"
printf '%s\n' "$PASSWORD" >"$root/etc/elapse/passwords"
chown "0:${user#*:}" "$root/etc/elapse/passwords"
chmod 0440 "$root/etc/elapse/passwords"
mount -o remount,bind,ro "$root"
ip link set lo up
unset PASSWORD
exec env -i PATH=/usr/bin:/bin "$(command -v chroot)" --userspec="$user" "$root" "$@"
"""


class Fault(Exception):
    pass


def expect(is_true, what):
    if not is_true:
        raise Fault(what)


def blob(folder, entry):
    """Reads a blob, and checks it against its description."""
    data = (folder / "blobs" / "sha256" / entry["digest"].removeprefix("sha256:")).read_bytes()
    expect(len(data) == entry["size"], f"{entry['digest']} has another size than its description")
    expect("sha256:" + hashlib.sha256(data).hexdigest() == entry["digest"], f"{entry['digest']} has another hash")
    return data


def read_image(folder):
    expect(json.loads((folder / "oci-layout").read_text())["imageLayoutVersion"] == "1.0.0", "oci-layout")
    [entry] = json.loads((folder / "index.json").read_text())["manifests"]
    manifest = json.loads(blob(folder, entry))
    config = json.loads(blob(folder, manifest["config"]))
    name = f"elapse:{config['config']['Labels']['org.opencontainers.image.version']}"
    expect(entry["annotations"]["io.containerd.image.name"] == f"docker.io/library/{name}", "the image has another name")
    paths = ["blobs/" + one["digest"].replace(":", "/") for one in (manifest["config"], *manifest["layers"])]
    expect(json.loads((folder / "manifest.json").read_text())
           == [{"Config": paths[0], "RepoTags": [name], "Layers": paths[1:]}], "manifest.json")
    layers = [gzip.decompress(blob(folder, layer)) for layer in manifest["layers"]]
    hashes = ["sha256:" + hashlib.sha256(layer).hexdigest() for layer in layers]
    expect(config["rootfs"]["diff_ids"] == hashes, "the configuration names other layers")
    return config["config"], layers, sum(layer["size"] for layer in manifest["layers"])


def look_at_files(root):
    """No file belongs to a user who could change it, and none makes a user another one."""
    for folder, names, files in os.walk(root):
        for name in names + files:
            path = pathlib.Path(folder, name)
            mode = path.lstat().st_mode
            expect(not mode & 0o6000, f"{path} changes the user")
            if not path.is_symlink() and path.relative_to(root) != pathlib.Path("tmp"):
                expect(not mode & 0o022, f"others may write to {path}")


class Container:
    def __init__(self, root, config, log):
        command = ["unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child=SIGKILL", "sh", "-c",
                   INSIDE, "sh", str(root), config["User"], *config["Entrypoint"], *config["Cmd"]]
        self.log_path = log
        self.started = time.monotonic()
        with open(log, "wb") as file:
            self.process = subprocess.Popen(command, stderr=file, stdin=subprocess.DEVNULL,
                                            env={**os.environ, "PASSWORD": PASSWORD})
        self.root, self.user = root, config["User"]

    def log(self):
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, words):
        while words not in self.log():
            expect(self.process.poll() is None, f"the server has ended:\n{self.log()}")
            expect(time.monotonic() < self.started + PATIENCE_S, f"the server does not say {words}:\n{self.log()}")
            time.sleep(0.002)
        return time.monotonic() - self.started

    def server(self):
        """The process of the server, which is the child of unshare."""
        pid = self.process.pid
        return int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()[0])

    def run(self, *words):
        """Runs a program in the container, as its user."""
        done = subprocess.run([shutil.which("nsenter"), f"--target={self.server()}", "--mount", "--net", "--pid", shutil.which("chroot"),
                               f"--userspec={self.user}", f"/proc/{self.server()}/root", *words], capture_output=True,
                              text=True, check=False, timeout=PATIENCE_S,
                              env={"PATH": "/usr/bin:/bin", "ELAPSE_TOKEN_FILE": "/etc/elapse/passwords"})
        return done.returncode, done.stdout + done.stderr

    def end(self):
        """The server does not end with unshare, because the change of its user forgets that it should."""
        if self.process.poll() is not None:
            return
        try:
            os.kill(self.server(), 9)
        except IndexError:
            self.process.kill()
        self.process.wait()


def try_server(container):
    ready_s = container.wait_for(" ready: ")
    status = pathlib.Path(f"/proc/{container.server()}/status").read_text(encoding="ascii")
    user, _, group = container.user.partition(":")
    expect(re.search(rf"^Uid:\t{user}\t{user}\t{user}\t{user}$", status, re.M), "it runs as another user")
    expect(re.search(rf"^Gid:\t{group}\t{group}\t", status, re.M), "it runs as another group")
    expect(re.search(r"^CapEff:\t0+$", status, re.M), "it has capabilities")
    for path in ("/", "/etc", "/usr/bin"):
        code, said = container.run("busybox", "touch", f"{path}/x")
        expect(code != 0 and "Read-only file system" in said, f"{path} can be written to: {said}")
    for path, answer in (("livez", "ok"), ("readyz", "ready")):
        code, said = container.run("busybox", "wget", "-q", "-O", "-", f"http://127.0.0.1:8080/{path}")
        expect((code, said) == (0, answer + "\n"), f"/{path} says {said}")
    code, said = container.run("elapse", "put", "tea", "water boils", "--server", "127.0.0.1:11300")
    expect(code == 0, f"elapse put: {said}")
    code, said = container.run("elapse", "list", "tea", "--server", "127.0.0.1:11300")
    expect(code == 0 and "1   ready " in said, f"elapse list: {said}")
    code, said = container.run("elapse", "cron", "0 9 * * 1", "--zone", "Europe/Berlin")
    expect(code == 0, f"it knows no time zones: {said}")
    os.kill(container.server(), 15)
    expect(container.process.wait(PATIENCE_S) == 0, f"SIGTERM does not end it well:\n{container.log()}")
    return ready_s


def main():
    folder = pathlib.Path(sys.argv[1])
    config, layers, size = read_image(folder)
    expect(not config["User"].startswith(("0", "root")) and ":" in config["User"], "the user is root")
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "--pid", "--net", "--fork", "true"],
                                           capture_output=True, check=False).returncode != 0:
        print("skipped: the image is not run, which needs root, and namespaces of its own")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="elapse-image-") as made:
        work = pathlib.Path(made)
        root = work / "root"
        root.mkdir()
        for layer in layers:
            subprocess.run(["tar", "-x", "--numeric-owner", "-p", "-C", root], input=layer, check=True)
        work.chmod(0o755)
        look_at_files(root)
        container = Container(root, config, work / "log")
        try:
            ready_s = try_server(container)
        finally:
            container.end()
    print(f"Tried: an image of {size / 1e6:.1f} MB, user {config['User']}, root read only, "
          f"ready after {ready_s:.2f} s")


if __name__ == "__main__":
    try:
        main()
    except Fault as fault:
        sys.exit(f"FAILED: the image: {fault}")
