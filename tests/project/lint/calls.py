#!/usr/bin/env python3
"""calls.py [--draw] [--lists FOLDER] BUILD [ROOT]: the files of src use each other in layers.

Reads the object files that BUILD has made of them: which symbols each defines, and which it needs,
functions and data. What an inline function of a header needs, each file needs that uses it. FOLDER
has rooms.txt and circles.txt; without --lists it is the folder of this file. Checks that
- the files of a room form no circle, except those that circles.txt lists;
- what a file uses of another room is named in a header of another room that rooms.txt lets it
  include. An include leads to others, so a file sees more than the headers that it may include.
Prints each violation, and for each circle one symbol for each pair of files, and fails if there is
one. With --draw it prints the rooms from the bottom up first, and the layers of each.

In circles.txt, a line `circle ROOM FILE...` says that these files of ROOM are a circle; indented
lines below it say why it stays. A circle that has gone must leave the list.
"""

import argparse
import collections
import json
import pathlib
import re
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True
from room_rules import FOLDER, NAME, Rules, circles, floors, without_comments

CIRCLES = "circles.txt"


def objects(build, root):
    """The object files of each file of src, by its path from the root. A file that the build makes
    has the path that it would have beside the others."""
    found = collections.defaultdict(list)
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        made = pathlib.Path(words[words.index("-o") + 1])
        file = pathlib.Path(entry["file"])
        file = file.relative_to(build if build in file.parents else root)
        # Tests compile some files of src again, for other sizes.
        if file.parts[0] == made.parts[0] == "src":
            found[file].append(pathlib.Path(entry["directory"], made))
    return found


def symbols(files):
    """(file, kind, symbol) for each symbol of these object files that others can see."""
    listed = subprocess.run(["nm", "-A", "-P", *files], stdout=subprocess.PIPE, text=True, check=True)
    for line in listed.stdout.splitlines():
        file, _, rest = line.partition(": ")
        symbol, kind = rest.split()[:2]
        if kind.isupper() or kind in "vw":
            yield pathlib.Path(file), kind, symbol


class Listed:
    """A circle of circles.txt."""

    def __init__(self, room, files):
        self.room, self.files, self.has_reason = room, sorted(files), False

    def __str__(self):
        return f"{self.room}: {' '.join(self.files)}"


def read_circles(file):
    listed = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        words = line.partition("#")[0].split()
        if len(words) > 3 and words[0] == "circle" and line[0] == "c":
            listed.append(Listed(words[1], words[2:]))
        elif words and line[0].isspace() and listed:
            listed[-1].has_reason = True
        elif words:
            sys.exit(f"{file.name}:{number}: this is no circle: {line}")
    return listed


class Tree:
    def __init__(self, build, root, lists):
        self.root, self.rules = root, Rules(lists / NAME)
        self.listed = read_circles(lists / CIRCLES)
        self.faults = []
        self.uses = collections.defaultdict(lambda: collections.defaultdict(set))
        self.files = collections.defaultdict(set)  # room -> files
        self.others = collections.defaultdict(collections.Counter)  # room -> room -> symbols
        self.headers = collections.defaultdict(set)  # word -> headers that have it
        for folder in ("include", "src"):
            for header in (root / folder).rglob("*.h"):
                for word in set(re.findall(r"\w+", without_comments(header))):
                    self.headers[word].add(header.relative_to(root))
        self.read(objects(build, root))
        self.absent = [file for path in sorted((root / "src").rglob("*.c"))
                       if (file := path.relative_to(root)) not in self.uses]

    def fault(self, file, text):
        self.faults.append(f"{file}: {text}")

    def read(self, made):
        source_of = {made_file: file for file, made_files in made.items() for made_file in made_files}
        if unmade := [file for made_file, file in source_of.items() if not made_file.exists()]:
            sys.exit(f"There is no object file of {unmade[0]}. "
                     "First: cmake --preset developer && cmake --build --preset developer")
        defined, needed = {}, []
        for made_file, kind, symbol in symbols(sorted(source_of)):
            file = source_of[made_file]
            if kind in "Uvw":
                needed.append((file, symbol))
            elif defined.setdefault(symbol, file) != file:
                self.fault(file, f"it defines {symbol}, and so does {defined[symbol]}")
        for file in sorted(made):
            self.uses[file]  # also if it uses none
            if self.rules.room_of(file) is None:
                self.fault(file, f"{NAME} does not say which room this file is in")
            self.files[self.room_of(file)].add(file)
        for file, symbol in sorted(set(needed)):
            if defined.get(symbol, file) != file:
                self.use(file, symbol, defined[symbol])

    def room_of(self, file):
        return self.rules.room_of(file) or "no room"

    def use(self, file, symbol, other_file):
        room, other = self.room_of(file), self.room_of(other_file)
        self.uses[file][other_file].add(symbol)
        if room == other:
            return
        self.others[room][other] += 1
        if not any(self.room_of(header) != room and self.rules.include_allowed(room, header)
                   for header in self.headers[symbol]):
            self.fault(file, f"{room} may not use {symbol} of {other_file}: "
                             f"no header of another room that {room} may include names it")

    def inside(self, room):
        """file -> files of the same room that it uses."""
        return {file: self.files[room] & set(self.uses[file]) for file in self.files[room]}

    def find_circles(self):
        """(room, files) for each circle, and the faults of the list."""
        found = [(room, group) for room in sorted(self.files)
                 for group in circles(self.inside(room))]
        names = {(room, *(file.name for file in group)) for room, group in found}
        absent = {file.name for file in self.absent}
        for listed in self.listed:
            if not listed.has_reason:
                self.fault(CIRCLES, f"it does not say why this circle stays: {listed}")
            if (listed.room, *listed.files) not in names and not absent.intersection(listed.files):
                self.fault(CIRCLES, f"there is no such circle any more: {listed}")
        allowed = {(listed.room, *listed.files) for listed in self.listed}
        return [(room, group) for room, group in found
                if (room, *(file.name for file in group)) not in allowed]


def print_circle(tree, room, group):
    print(f"circle of files in {room}: {' '.join(file.name for file in group)}")
    for file in group:
        for other in group:
            if found := sorted(tree.uses[file].get(other, ())):
                more = f", and {len(found) - 1} more" if len(found) > 1 else ""
                print(f"    {file.name} -> {other.name}: {found[0]}{more}")


def draw(tree):
    rooms = {room: set(tree.others[room]) for room in tree.files}
    for room in [room for floor in floors(rooms) for room in floor]:
        used = [f"{other} ({tree.others[room][other]})" for other in sorted(rooms[room])]
        print(f"{room} uses {', '.join(used) or 'no other room'}")
        inside = tree.inside(room)
        for number, floor in enumerate(floors(inside)):
            for file in floor:
                others = " ".join(sorted(other.name for other in inside[file]))
                print(f"  {number}  {file.name}{' -> ' if others else ''}{others}")
        print()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("--lists", default=FOLDER, type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("root", nargs="?", default=".", type=pathlib.Path)
    options = parser.parse_args()
    tree = Tree(options.build.resolve(), options.root.resolve(), options.lists)
    if options.draw:
        draw(tree)
    found = tree.find_circles()
    for line in tree.faults:
        print(line)
    for room, group in found:
        print_circle(tree, room, group)
    if tree.absent:
        print(f"not examined, because this build leaves them out: {' '.join(map(str, tree.absent))}")
    count = sum(len(used) for uses in tree.uses.values() for used in uses.values())
    print(f"{len(tree.uses)} files, {count} uses of symbols: {len(tree.faults)} faults, "
          f"{len(found)} circles that are not listed")
    sys.exit(1 if tree.faults or found or count == 0 else 0)


main()
