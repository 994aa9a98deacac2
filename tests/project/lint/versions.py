#!/usr/bin/env python3
"""versions.py [TREE]: every file that names the version names that of include/elapse/version.h.

    versions.py --test    shows that each of the checks can fail, on a copy of the files

In 0.x the ABI version is the minor one, later the major one: it is in the names of the shared
libraries and of their packages.
"""

import pathlib
import re
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
PAGES = ("README.md", "docs/install.md", "docs/guide/*.md")
LIBRARIES = ("libelapse", "libelapse-queue")
NUMBERS = r"(\d+(?:\.\d+)*)"
# What pages say of versions: requests of CMake, sonames, names of packages, and symbol versions.
IN_PAGES = (rf"find_package\(elapse {NUMBERS}", rf"libelapse(?:-queue)?\.so\.{NUMBERS}",
            rf"libelapse(?:-queue)?{NUMBERS}", rf"\bELAPSE_(?:QUEUE_)?{NUMBERS}")


def numbers(version):
    return [int(number) for number in version.split(".")]


class Check:
    def __init__(self, tree):
        self.tree, self.faults = tree, []
        header = "include/elapse/version.h"
        self.version = self.one(header, r'ELAPSE_VERSION_TEXT +"([^"]*)"')
        parts = [self.one(header, rf"ELAPSE_VERSION_{part} +(\d+)") for part in ("MAJOR", "MINOR", "PATCH")]
        self.same(header, ".".join(parts), self.version)
        major, minor, _ = self.version.split(".")
        self.abi = f"0.{minor}" if major == "0" else major

    def text(self, name):
        return (self.tree / name).read_text(encoding="utf-8")

    def one(self, name, pattern):
        found = re.search(pattern, self.text(name), re.M)
        if not found:
            sys.exit(f"{name}: there is no {pattern}")
        return found[1]

    def same(self, name, found, expected):
        if found != expected:
            self.faults.append(f"{name}: {found}, where {expected} is expected")

    def debian(self):
        self.same("debian/changelog", self.one("debian/changelog", r"\Aelapse \(([^)]*)\)"), self.version)
        packages = re.findall(r"^Package: (libelapse(?:-queue)?[\d.]+)$", self.text("debian/control"), re.M)
        self.same("debian/control", packages, [f"{library}{self.abi}" for library in LIBRARIES])
        for found in re.findall(rf"\blibelapse(?:-queue)?{NUMBERS}", self.text("debian/control")):
            self.same("debian/control", found, self.abi)
        named = sorted(path.name for path in (self.tree / "debian").glob("libelapse*[0-9]*"))
        self.same("debian", named, sorted(f"{library}{self.abi}.{kind}" for library in LIBRARIES
                                          for kind in ("install", "symbols")))
        for library in LIBRARIES:
            name = f"debian/{library}{self.abi}.symbols"
            if not (self.tree / name).exists():
                continue
            symbols = library.removeprefix("lib").replace("-", "_").upper()
            first = self.abi + ".0" * (2 - self.abi.count("."))
            self.same(name, self.text(name).splitlines(), [
                f"{library}.so.{self.abi} {library}{self.abi} #MINVER#",
                f"* Build-Depends-Package: {library}-dev",
                f" (symver){symbols}_{self.abi} {first}"])

    def changelog(self):
        """The newest version there: the present one, or one before it while that is being made."""
        newest = self.one("CHANGELOG.md", rf"^## \[{NUMBERS}\] - \d{{4}}-\d\d-\d\d$")
        if numbers(newest) > numbers(self.version):
            self.same("CHANGELOG.md", newest, self.version)

    def pages(self):
        self.same("README.md", self.one("README.md", r"This is (\d+\.\d+\.\d+)"), self.version)
        for path in sorted(path for pattern in PAGES for path in self.tree.glob(pattern)):
            text = path.read_text(encoding="utf-8")
            for found in (found for pattern in IN_PAGES for found in re.findall(pattern, text)):
                self.same(path.relative_to(self.tree).as_posix(), found, self.abi)

    def since(self):
        for path in sorted(self.tree.glob("include/elapse/*.h")):
            for found in re.findall(r"Since (\d+\.\d+)\.", path.read_text(encoding="utf-8")):
                if numbers(found) > numbers(self.version):
                    self.same(path.name, f"since {found}", f"up to {self.version}")

    def all(self):
        self.same("CMakeLists.txt", self.one("CMakeLists.txt", r"^project\(elapse VERSION (\S+)"), self.version)
        package = "clients/javascript/package.json"
        self.same(package, self.one(package, r'^  "version": "([^"]*)"'), self.version)
        for package, pattern in (("clients/python/pyproject.toml", r'^version = "([^"]*)"'),
                                 ("clients/python/src/elapse/__init__.py", r'^__version__ = "([^"]*)"')):
            self.same(package, self.one(package, pattern), self.version)
        for page in ("clients/go/README.md", "clients/go/EXAMPLES.md"):
            self.same(page, self.one(page, r"-require=elapse@v(\S+)"), self.version)
        self.debian()
        self.changelog()
        self.pages()
        self.since()
        return self.faults


# A file, a text in it, what to plant instead, and a word of the fault. VERSION and ABI stand for
# those of the tree.
PLANTED = (
    ("include/elapse/version.h", "ELAPSE_VERSION_PATCH ", "ELAPSE_VERSION_PATCH 9", "version.h"),
    ("CMakeLists.txt", "VERSION VERSION", "VERSION 9.9.9", "CMakeLists.txt"),
    ("clients/javascript/package.json", '"version": "', '"version": "9', "package.json"),
    ("clients/python/pyproject.toml", 'version = "', 'version = "9', "pyproject.toml"),
    ("clients/python/src/elapse/__init__.py", '__version__ = "', '__version__ = "9', "__init__.py"),
    ("clients/go/README.md", "elapse@v", "elapse@v9", "README.md"),
    ("clients/go/EXAMPLES.md", "elapse@v", "elapse@v9", "EXAMPLES.md"),
    ("debian/changelog", "(VERSION)", "(9.9.9)", "debian/changelog"),
    ("debian/control", "Package: libelapseABI", "Package: libelapse9.9", "debian/control"),
    ("debian/control", " libelapse-queueABI (=", " libelapse-queue9.9 (=", "debian/control"),
    ("debian/libelapseABI.symbols", "ELAPSE_ABI", "ELAPSE_9.9", "libelapseABI.symbols"),
    ("debian/libelapse-queueABI.symbols", "so.ABI", "so.9.9", "libelapse-queueABI.symbols"),
    ("debian/libelapse9.9.install", "", "usr/lib", "debian:"),
    ("CHANGELOG.md", "## [Unreleased]", "## [99.0.0] - 2026-01-01", "CHANGELOG.md"),
    ("docs/guide/library.md", "find_package(elapse ABI", "find_package(elapse 9.9", "docs/guide/library.md"),
    ("README.md", "This is ", "This is 9.9.9, not ", "README.md"),
    ("docs/install.md", "libelapse.so.ABI", "libelapse.so.9.9", "docs/install.md"),
    ("docs/install.md", "`libelapse-queueABI`", "`libelapse-queue9.9`", "docs/install.md"),
    ("docs/guide/plugins.md", "ELAPSE_ABI", "ELAPSE_9.9", "docs/guide/plugins.md"),
    ("include/elapse/version.h", "Since ", "Since 99.0. Since ", "version.h"),
)


def test():
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        for name in ("include", "debian", "docs/guide"):
            shutil.copytree(ROOT / name, tree / name)
        (tree / "clients/javascript").mkdir(parents=True)
        (tree / "clients/python/src/elapse").mkdir(parents=True)
        (tree / "clients/go").mkdir()
        for name in ("CMakeLists.txt", "CHANGELOG.md", "README.md", "docs/install.md", "clients/javascript/package.json",
                     "clients/python/pyproject.toml", "clients/python/src/elapse/__init__.py",
                     "clients/go/README.md", "clients/go/EXAMPLES.md"):
            shutil.copy(ROOT / name, tree / name)
        check = Check(tree)
        failures += check.all()
        for planted in PLANTED:
            name, text, instead, word = (
                part.replace("VERSION VERSION", f"VERSION {check.version}")
                .replace("(VERSION)", f"({check.version})").replace("ABI", check.abi) for part in planted)
            path = tree / name
            before = path.read_text(encoding="utf-8") if path.exists() else None
            if text not in (before or ""):
                failures.append(f"{name} does not say {text!r} any more")
                continue
            path.write_text((before or "").replace(text, instead, 1), encoding="utf-8")
            if not any(word in fault for fault in Check(tree).all()):
                failures.append(f"not noticed: {instead!r} in {name}")
            path.unlink() if before is None else path.write_text(before, encoding="utf-8")
    return failures


def main():
    arguments = sys.argv[1:]
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-") and arguments[0] != "--test"):
        sys.exit("usage: versions.py [--test | TREE]")
    faults = test() if arguments == ["--test"] else Check(pathlib.Path(*arguments or [ROOT])).all()
    print("\n".join(faults), end="\n" if faults else "")
    sys.exit(1 if faults else 0)


main()
