#!/usr/bin/env python3
"""symbols.py COMPILER INCLUDE LIBRARY: what the shared LIBRARY exports is what the headers
below INCLUDE declare, no more and no less; and all of it under the version that the SONAME
names.
"""

import pathlib
import re
import subprocess
import sys


def output(*command, text=None):
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def declarations(compiler, include):
    """The text of all headers below include, without what they include from elsewhere."""
    headers = sorted(path.name for path in (include / "elapse").glob("*.h"))
    program = "".join(f"#include <elapse/{name}>\n" for name in headers)
    kept, ours = [], False
    for line in output(compiler, "-E", "-I", include, "-x", "c", "-", text=program).splitlines():
        marker = re.match(r'# \d+ "(.*?)"', line)
        if marker:
            ours = pathlib.Path(marker[1]).parent == include / "elapse"
        elif ours:
            kept.append(line)
    return " ".join(kept)


def outside_braces(text):
    """Each pair of braces as one pair of braces, so that a function ends as a struct does."""
    nested = re.compile(r"\{[^{}]*\}")
    while nested.search(text):
        text = nested.sub(" @ ", text)
    return text


def declared(compiler, include):
    """The functions and variables with external linkage that the headers declare."""
    names = set()
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)\s*\)?", " ", declarations(compiler, include))
    text = re.sub(r"\)\s*@", ");", outside_braces(text))
    for statement in text.split(";"):
        statement = statement.replace("@", " ").strip()
        if re.match(r"(static|typedef|_Static_assert)\b", statement):
            continue
        name = re.match(r"[^()=]*?\b(\w+)\s*\(", statement)
        if not name and re.match(r"extern\b", statement):
            name = re.match(r".*?\b(\w+)\s*(\[.*\])?$", statement)
        if name:
            names.add(name[1])
    return names


def exported(library):
    """The names that the library exports, and for each the version it has them under."""
    found = {}
    for line in output("nm", "-D", "--defined-only", library).splitlines():
        kind, symbol = line.split()[-2:]
        name, _, version = symbol.partition("@")
        if kind != "A":
            found[name] = version.lstrip("@")
    return found


def main():
    compiler, include, library = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    public, found = declared(compiler, include), exported(library)
    soname = re.search(r"SONAME.*\[libelapse\.so\.(.*)\]", output("readelf", "-d", library))
    version = f"ELAPSE_{soname[1]}" if soname else "a version, for there is no SONAME"

    faults = [f"declared, but not exported: {name}" for name in sorted(public - found.keys())]
    faults += [f"exported, but not declared: {name}" for name in sorted(found.keys() - public)]
    faults += [f"{name} is not under {version}" for name in sorted(found) if found[name] != version]
    for fault in faults:
        print(fault)
    print(f"{len(public)} functions declared, {len(found)} exported")
    sys.exit(1 if faults or not public else 0)


if __name__ == "__main__":
    main()
