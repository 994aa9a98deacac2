#!/usr/bin/env python3
"""rooms.py [--draw] [ROOT]: the C files use each other as rooms.txt, beside this file, allows.

Checks that
- each include names a file of the same room, or one of a room that an arrow allows;
- each system header is in a group that the room may use;
- no room calls what only the group `any` may call;
- neither the rooms nor the modules of one room form a circle. A module is x.c with x.h; a public
  header is a module of its own.
Prints each violation, and fails if there is one. With --draw it prints the includes as a drawing
first: the rooms from the bottom up, and the modules of each.
"""

import argparse
import collections
import pathlib
import re
import sys

sys.dont_write_bytecode = True
from room_rules import (FOLDER, LITERAL, NAME, PUBLIC, Rules, blank, circles, floors,
                        without_comments)

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)


class Source:
    """One C file: the lines of its includes, and the functions that it calls."""

    def __init__(self, root, path):
        self.path = path
        text = without_comments(root / path)
        self.includes = [(text.count("\n", 0, match.start(1 if match[1] else 2)) + 1, *match.groups())
                         for match in INCLUDE.finditer(text)]
        self.code = LITERAL.sub(blank, text)

    def called(self, names):
        pattern = re.compile(rf"(?<![\w.>\"])({'|'.join(sorted(names))})[ \t\n]*\(")
        return [(self.code.count("\n", 0, match.start()) + 1, match[1])
                for match in pattern.finditer(self.code)]


def module(path):
    """The module of a file: its name without the ending, or <elapse/NAME.h>."""
    return f"<elapse/{path.name}>" if str(path.parent) == PUBLIC else path.stem


def resolve(root, path, name):
    """The file that `#include "name"` means: beside `path`, or below a folder above it."""
    for folder in [path.parent, *path.parent.parents]:
        file = root / folder / name
        if file.is_file():
            return file.resolve().relative_to(root)
    return None


class Tree:
    def __init__(self, root, rules):
        self.root, self.rules = root, rules
        self.faults = []
        self.rooms = collections.defaultdict(collections.Counter)  # room -> room -> includes
        self.modules = collections.defaultdict(dict)  # room -> module -> modules
        for folder in (PUBLIC, "src", "examples"):
            for file in sorted((root / folder).rglob("*.[ch]")):
                self.read(Source(root, file.relative_to(root)))
        for (room, other) in rules.arrows:
            self.rooms[room][other] += 0

    def fault(self, source, line, text):
        self.faults.append(f"{source.path}:{line}: {text}")

    def read(self, source):
        room = self.rules.room_of(source.path)
        if room is None:
            self.fault(source, 1, f"{NAME} does not say which room this file is in")
            return
        public = str(source.path.parent) == PUBLIC
        self.modules[room].setdefault(module(source.path), set())
        for line, quoted, angled in source.includes:
            if quoted:
                target = resolve(self.root, source.path, quoted)
                if target is None or public:
                    self.fault(source, line, f'"{quoted}" is no file that this one may include')
                    continue
            elif angled.startswith("elapse/"):
                target = pathlib.Path("include", angled)
            else:
                if not self.rules.system_header_allowed(room, angled, public):
                    self.fault(source, line, f"{room} may not include <{angled}>")
                continue
            self.use(source, line, room, target)
        if "any" not in self.rules.may_use[room]:
            for line, name in source.called(self.rules.calls):
                self.fault(source, line, f"{room} may not call {name}")

    def use(self, source, line, room, target):
        other = self.rules.room_of(target)
        if not self.rules.include_allowed(room, target):
            self.fault(source, line, f"{room} may not include {target}, which is in {other}")
        if other is not None and other != room:
            self.rooms[room][other] += 1
        elif other == room and module(target) != module(source.path):
            self.modules[room][module(source.path)].add(module(target))

    def find_circles(self):
        found = [f"rooms: {' '.join(group)}" for group in circles(self.rooms)]
        for room, modules in sorted(self.modules.items()):
            found += [f"modules of {room}: {' '.join(group)}" for group in circles(modules)]
        return found


def draw(tree):
    used = {room: {other for other, count in tree.rooms[room].items() if count > 0}
            for room in tree.modules}
    for room in [room for floor in floors(used) for room in floor]:
        arrows = [f"{other} ({tree.rooms[room][other]})" for other in sorted(used[room])]
        print(f"{room} -> {', '.join(arrows) or 'nothing'}")
        for number, floor in enumerate(floors(tree.modules[room])):
            for name in floor:
                others = " ".join(sorted(tree.modules[room][name]))
                print(f"  {number}  {name}{' -> ' if others else ''}{others}")
        print()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("root", nargs="?", default=".", type=pathlib.Path)
    options = parser.parse_args()
    tree = Tree(options.root.resolve(), Rules(FOLDER / NAME))
    if options.draw:
        draw(tree)
    found = tree.find_circles()
    for line in [*tree.faults, *(f"circle of {circle}" for circle in found)]:
        print(line)
    files = sum(len(modules) for modules in tree.modules.values())
    print(f"{len(tree.modules)} rooms, {files} modules: {len(tree.faults)} wrong uses, "
          f"{f'{len(found)} circles' if found else 'no circle'}")
    sys.exit(1 if tree.faults or found or files == 0 else 0)


main()
