"""What rooms.py, calls.py and assertions.py share: rooms.txt, the text of C files, and graphs."""

import collections
import pathlib
import re
import sys

NAME = "rooms.txt"
FOLDER = pathlib.Path(__file__).parent
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'')
PUBLIC = "include/elapse"


def blank(match):
    """Spaces in place of the text, so that positions stay as they are."""
    return re.sub(r"[^\n]", " ", match.group())


def without_comments(file):
    return COMMENT.sub(blank, file.read_text(encoding="utf-8"))


class Rules:
    def __init__(self, file):
        self.folders = {}  # folder -> room
        self.groups = collections.defaultdict(set)
        self.may_use = {}  # room -> groups and headers
        self.owner = {}  # public header -> room
        self.arrows = {}  # (room, room) -> None for all headers, or the private ones allowed
        self.calls = set()
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            words = line.partition("#")[0].split()
            if words and not self.read(*words):
                sys.exit(f"{file.name}:{number}: this is no rule: {line}")

    def read(self, kind, *words):
        if kind == "calls":
            self.calls.update(words)
        elif kind == "headers" and len(words) > 1:
            self.groups[words[0]].update(words[1:])
        elif kind == "room" and len(words) > 2:
            self.folders[words[1]] = words[0]
            self.may_use[words[0]] = words[2:]
        elif kind == "public" and len(words) > 1:
            self.owner.update((header, words[0]) for header in words[1:])
        elif kind == "arrow" and len(words) > 1:
            private = set(words[2:]) - {"public"}
            self.arrows[words[0], words[1]] = private if len(words) > 2 else None
        else:
            return False
        return True

    def room_of(self, path):
        """The room of a C file, named from the root; None if no rule names it."""
        folder = str(path.parent)
        return self.owner.get(path.name) if folder == PUBLIC else self.folders.get(folder)

    def system_header_allowed(self, room, header, public):
        if public:
            return header in self.groups["pure"]
        return any(word in ("any", header) or header in self.groups[word]
                   for word in self.may_use[room])

    def include_allowed(self, room, target):
        other = self.room_of(target)
        if other == room:
            return True
        if (room, other) not in self.arrows:
            return False
        private = self.arrows[room, other]
        return private is None or str(target.parent) == PUBLIC or target.name in private


def groups(edges):
    """The names in groups that reach each other, most of one name, by Tarjan's algorithm. A group
    comes after all groups that it uses."""
    index, low, stack, found = {}, {}, [], []

    def visit(name):
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(edges.get(name, ())):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            found.append(sorted(stack[stack.index(name):]))
            del stack[stack.index(name):]

    for name in sorted(edges):
        if name not in index:
            visit(name)
    return found


def circles(edges):
    return [group for group in groups(edges) if len(group) > 1]


def floors(edges):
    """The names from the bottom up: each uses only names of lower floors, or of its own circle."""
    floor_of = {}
    for group in groups(edges):
        below = {other for name in group for other in edges.get(name, ())} - set(group)
        floor = 1 + max((floor_of[other] for other in below), default=-1)
        floor_of.update((name, floor) for name in group)
    return [sorted(name for name in floor_of if floor_of[name] == floor)
            for floor in range(1 + max(floor_of.values(), default=-1))]
