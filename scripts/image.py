#!/usr/bin/env python3
"""image.py [--check] FOLDER: makes an OCI image from the Debian package `elapse` in FOLDER and the packages
of Debian that it needs, and nothing else. Writes build/image/elapse-VERSION.tar, for `docker load`,
`podman load` and `skopeo copy oci-archive:`, and its folder build/image/oci.

The files of the packages are unpacked; nothing is installed, so no script of a package runs. The image has
no package manager. It has one shell, that of busybox, for hooks of whoever runs containers.

--check also tries the image, by check_image.py.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT = ROOT / "build" / "image"
BYTES_MAX = 60 << 20  # of all layers, compressed
USER = 10001          # no user of a machine has this number
SKIPPED = 77

# Beside the program: the rules of time zones, the authorities of the web, a shell.
BESIDE = ("tzdata", "ca-certificates", "busybox-static")
# Only scripts that run while a package is installed need these.
LEFT_OUT = {"debconf", "openssl"}
# What nobody reads in a container. The licences in usr/share/doc stay.
DROPPED = re.compile(r"usr/share/(man|info|locale|lintian|bug|doc-base|bash-completion|fish|zsh|"
                     r"doc/[^/]+/(?!copyright$).*)(/|$)")
AUTHORITIES = "etc/ssl/certs/ca-certificates.crt"
FOLDERS = ("dev", "etc/elapse", "proc", "sys", "var/lib")


class Failure(Exception):
    pass


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise Failure(f"{command[0]} {command[1]}: {done.stderr.strip()}")
    return done.stdout


def download(package, folder):
    """Has apt download the packages that a bare system lacks. apt verifies them as always."""
    (folder / "archives" / "partial").mkdir(parents=True)
    (folder / "status").touch()
    apt = ("apt-get", "-y", "-o", f"Dir::State::status={folder}/status", "-o", f"Dir::Cache::archives={folder}/archives",
           "-o", "Debug::NoLocking=1", "-o", "APT::Install-Recommends=0", "-o", "APT::Sandbox::User=root")
    run(*apt, "--download-only", "install", package, *BESIDE, env={**os.environ, "LC_ALL": "C"})
    found = sorted((folder / "archives").glob("*.deb"))
    if not found:
        raise Failure("apt-get has downloaded nothing")
    return [path for path in found if path.name.split("_")[0] not in LEFT_OUT | {"elapse"}] + [package]


def unpack(packages, root):
    root.mkdir()
    # Debian's folders for programs and libraries are links into usr, which packages rely on.
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for package in packages:
        content = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(package)], capture_output=True, check=True).stdout
        run_tar = subprocess.run(["tar", "-x", "--keep-directory-symlink", "-C", str(root)], input=content,
                                 capture_output=True, check=False)
        if run_tar.returncode != 0:
            raise Failure(f"{package.name}: {run_tar.stderr.decode().strip()}")


def drop(root):
    for folder, names, files in os.walk(root, topdown=False):
        for name in names + files:
            path = pathlib.Path(folder, name)
            if DROPPED.match(str(path.relative_to(root))):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()


def complete(root):
    """Writes what the scripts of the packages would have made."""
    for name in FOLDERS:
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "etc" / "passwd").write_text(f"root:x:0:0:root:/root:/usr/sbin/nologin\nelapse:x:{USER}:{USER}:"
                                         "Elapse queue server:/var/lib/elapse:/usr/sbin/nologin\n", encoding="ascii")
    (root / "etc" / "group").write_text(f"root:x:0:\nelapse:x:{USER}:\n", encoding="ascii")
    (root / "etc" / "nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files dns\n", encoding="ascii")
    certificates = sorted((root / "usr/share/ca-certificates").glob("**/*.crt"))
    bundle = root / AUTHORITIES
    bundle.parent.mkdir(parents=True, exist_ok=True)
    bundle.write_text("".join(path.read_text(encoding="ascii").strip() + "\n" for path in certificates),
                      encoding="ascii")
    run("/usr/sbin/ldconfig", "-r", root)
    shutil.rmtree(root / "var" / "cache", ignore_errors=True)


def make_layer(root, time_s):
    """Returns the layer, compressed, and the hash of what is in it. The same files give the same bytes."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as tar:
        def add(path, name, owner=0):
            entry = tar.gettarinfo(path, name)
            entry.mtime = min(int(entry.mtime), time_s)
            entry.uid = entry.gid = owner
            entry.uname = entry.gname = ""
            entry.mode &= ~0o6022  # nobody but root changes it, and nobody becomes another user by it
            if entry.isfile():
                with open(path, "rb") as file:
                    tar.addfile(entry, file)
            else:
                tar.addfile(entry)

        for folder, names, files in os.walk(root):
            names.sort()
            for name in sorted(files + names):
                path = pathlib.Path(folder, name)
                add(path, str(path.relative_to(root)))
        for name, mode, owner in (("var/lib/elapse", 0o700, USER), ("tmp", 0o1777, 0)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode, entry.uid, entry.gid, entry.mtime = tarfile.DIRTYPE, mode, owner, owner, time_s
            tar.addfile(entry)
    return gzip.compress(plain.getvalue(), mtime=0), digest(plain.getvalue())


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def write_blob(folder, data, kind):
    name = digest(data)
    (folder / "blobs" / "sha256" / name.split(":")[1]).write_bytes(data)
    return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": name, "size": len(data)}


def path_of(entry):
    return "blobs/" + entry["digest"].replace(":", "/")


def configuration(version, layer_hash, machine, created):
    return {
        "created": created, "architecture": machine, "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "Env": ["PATH=/usr/bin:/bin"],
            "Entrypoint": ["/usr/bin/elapse"],
            "Cmd": ["serve", "--data", "/var/lib/elapse", "--listen", "0.0.0.0:11300", "--http", "0.0.0.0:8080",
                    "--auth", "/etc/elapse/passwords"],
            "ExposedPorts": {"11300/tcp": {}, "8080/tcp": {}},
            "Volumes": {"/var/lib/elapse": {}},
            "WorkingDir": "/var/lib/elapse",
            "StopSignal": "SIGTERM",
            "Labels": {"org.opencontainers.image.title": "elapse", "org.opencontainers.image.version": version,
                       "org.opencontainers.image.licenses": "MIT"},
        },
        "rootfs": {"type": "layers", "diff_ids": [layer_hash]},
        "history": [{"created": created, "created_by": "scripts/image.py", "comment": "Debian's packages"}],
    }


def as_json(value):
    return json.dumps(value, indent=1, sort_keys=True).encode()


def write_image(layer, layer_hash, version, machine, time_s):
    """Writes the image as OCI has it, and beside its index the list that `docker load` reads the name from."""
    folder = OUT / "oci"
    name = f"elapse:{version}"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "blobs" / "sha256").mkdir(parents=True)
    created = run("date", "-u", "-d", f"@{time_s}", "+%Y-%m-%dT%H:%M:%SZ").strip()
    config = write_blob(folder, as_json(configuration(version, layer_hash, machine, created)), "config.v1+json")
    layers = [write_blob(folder, layer, "layer.v1.tar+gzip")]
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config,
                "layers": layers}
    entry = write_blob(folder, as_json(manifest), "manifest.v1+json")
    entry["platform"] = {"architecture": machine, "os": "linux"}
    # containerd wants a name with its registry: this is how Docker completes a name that has none.
    entry["annotations"] = {"org.opencontainers.image.ref.name": version,
                            "io.containerd.image.name": f"docker.io/library/{name}"}
    (folder / "index.json").write_bytes(as_json(
        {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [entry]}))
    (folder / "manifest.json").write_bytes(as_json(
        [{"Config": path_of(config), "RepoTags": [name], "Layers": [path_of(one) for one in layers]}]))
    (folder / "oci-layout").write_bytes(as_json({"imageLayoutVersion": "1.0.0"}))
    archive = OUT / f"elapse-{version}.tar"
    run("tar", "--create", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", f"--mtime=@{time_s}", "-f",
        archive, "-C", folder, "oci-layout", "index.json", "manifest.json", "blobs")
    return archive


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    options.add_argument("folder", type=pathlib.Path)
    options.add_argument("--check", action="store_true")
    given = options.parse_args()
    os.umask(0o022)  # the user of the image reads what is written here
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        print("skipped: apt-get and dpkg-deb are not here: the image is made of Debian's packages")
        sys.exit(SKIPPED)
    [package] = given.folder.resolve().glob("elapse_*.deb")
    version = run("dpkg-deb", "--field", package, "Version").strip()
    machine = run("dpkg-deb", "--field", package, "Architecture").strip()
    time_s = int(os.environ.get("SOURCE_DATE_EPOCH", run("git", "-C", ROOT, "log", "-1", "--format=%ct")))
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="elapse-image-") as made:
        work = pathlib.Path(made)
        root = work / "root"
        unpack(download(package, work), root)
        drop(root)
        complete(root)
        layer, layer_hash = make_layer(root, time_s)
    if len(layer) > BYTES_MAX:
        raise Failure(f"the layer has {len(layer)} bytes, more than {BYTES_MAX}")
    archive = write_image(layer, layer_hash, version, machine, time_s)
    print(f"Built: {archive.relative_to(ROOT)}, a layer of {len(layer) / 1e6:.1f} MB", flush=True)
    if given.check:
        sys.exit(subprocess.run([sys.executable, "-B", ROOT / "scripts/check_image.py", OUT / "oci"],
                                check=False).returncode)


if __name__ == "__main__":
    try:
        main()
    except Failure as fault:
        sys.exit(f"Build failed: the image: {fault}")
