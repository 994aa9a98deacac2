#!/usr/bin/env python3
"""symbols.py COMPILER INCLUDE LIBRARY: what LIBRARY, libelapse or libelapse-queue, exports is what
its headers below INCLUDE declare, no more and no less. All of a shared one (.so) is under the version
that the SONAME names; a static one (.a) has no versions.
"""

import pathlib
import re
import subprocess
import sys


# The headers of libelapse-queue; all others are of libelapse.
OF_QUEUE = {"job.h", "queue.h"}


def output(*command, text=None):
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def declarations(compiler, include, headers=None):
    """The text of these headers below include, or of all, without what they include from
    elsewhere."""
    every = sorted(path.name for path in (include / "elapse").glob("*.h"))
    headers = every if headers is None else sorted(headers)
    program = "".join(f"#include <elapse/{name}>\n" for name in headers)
    kept, ours = [], False
    for line in output(compiler, "-E", "-I", include, "-x", "c", "-", text=program).splitlines():
        marker = re.match(r'# \d+ "(.*?)"', line)
        if marker:
            path = pathlib.Path(marker[1])
            ours = path.parent == include / "elapse" and path.name in headers
        elif ours:
            kept.append(line)
    return " ".join(kept)


def outside_braces(text):
    """Each pair of braces as one pair of braces, so that a function ends as a struct does."""
    nested = re.compile(r"\{[^{}]*\}")
    while nested.search(text):
        text = nested.sub(" @ ", text)
    return text


def declared(compiler, include, headers=None):
    """The functions and variables with external linkage that the headers declare."""
    names = set()
    text = declarations(compiler, include, headers)
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)\s*\)?", " ", text)
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
    table = [] if library.endswith(".a") else ["-D"]
    for line in output("nm", *table, "--defined-only", "--extern-only", library).splitlines():
        if len(line.split()) < 3:  # the name of an object, or an empty line
            continue
        kind, symbol = line.split()[-2:]
        name, _, version = symbol.partition("@")
        if kind != "A":
            found[name] = version.lstrip("@")
    return found


def main():
    compiler, include, library = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    static = re.search(r"lib(elapse|elapse-queue)\.a$", library)
    soname = static or re.search(r"SONAME.*\[lib(elapse|elapse-queue)\.so\.(.*)\]",
                                 output("readelf", "-d", library))
    version = "a version, for there is no SONAME"
    if static:
        version = ""
    elif soname:
        version = soname[1].upper().replace("-", "_") + "_" + soname[2]
    every = {path.name for path in (include / "elapse").glob("*.h")}
    of_queue = soname and soname[1] == "elapse-queue"
    public = declared(compiler, include, OF_QUEUE if of_queue else every - OF_QUEUE)
    found = exported(library)

    faults = [f"declared, but not exported: {name}" for name in sorted(public - found.keys())]
    faults += [f"exported, but not declared: {name}" for name in sorted(found.keys() - public)]
    faults += [f"{name} is not under {version}" for name in sorted(found) if found[name] != version]
    for fault in faults:
        print(fault)
    print(f"{len(public)} functions declared, {len(found)} exported")
    sys.exit(1 if faults or not public else 0)


if __name__ == "__main__":
    main()
