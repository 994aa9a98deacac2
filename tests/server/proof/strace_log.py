"""Reads the log of strace: which records of the journal were written and synced, and what was sent.

A moment is the number of a line in the log. strace writes the beginning of a call before the call, and
its end before the thread continues. So a cause always has a smaller number than its effect.
"""

import re
import shutil
import subprocess

CALLS = "pwrite64,pwritev,pwritev2,fdatasync,fsync,sendto,sendmsg,write,writev"
BEGIN = re.compile(r"^(\d+) +(\w+)\((.*)$")
RESUMED = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>.*\) += (-?\d+)")
RESULT = re.compile(r"\) += (-?\d+)(?: .*)?$")
FIRST = re.compile(r"^\d+<((?:[^>]|->)*)>")
TCP = re.compile(r"^\d+<TCP:\[[^\]]*->127\.0\.0\.1:(\d+)\]>")
TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
PLACE = re.compile(r"(\d+)$")
PUT, CHANGE, DELETE, LEASE = 1, 2, 3, 4
HEADER, ALIGNMENT = 24, 8
SEGMENT_MAGIC = b"elapseJ\0"


def refusal():
    """Returns why no process can be traced here; None if processes can be traced."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], capture_output=True,
                           check=False)
    return None if tried.returncode == 0 else f"strace: {tried.stderr.decode().strip()}"


def prefix(path, *more):
    """Returns the words that stand before a command line to trace it with strace."""
    return ["strace", "-f", "-yy", "-xx", "-s", "10000000", "-e", f"trace={CALLS}", "-o", path, *more]


class Call:
    def __init__(self, name, arguments, begin):
        self.name, self.begin, self.end, self.result = name, begin, None, None
        self.connection = TCP.match(arguments)
        # The name of the file, and its bytes. The text of -xx has no quotes and no commas inside.
        named = FIRST.match(arguments)
        self.file = named.group(1) if named else arguments
        self.data = bytes.fromhex("".join(TEXT.findall(arguments)).replace("\\x", ""))


def read_calls(path):
    """Returns all calls that have ended well, in the order of their begins."""
    calls, open_calls = [], {}
    with open(path, encoding="ascii", errors="replace") as lines:
        for number, text in enumerate(lines):
            resumed = RESUMED.match(text)
            if resumed:
                call, result = open_calls.pop(resumed.group(1), None), resumed.group(3)
            else:
                begun = BEGIN.match(text)
                if not begun:
                    continue
                call = Call(begun.group(2), begun.group(3), number)
                calls.append(call)
                if "<unfinished ...>" in text:
                    open_calls[begun.group(1)] = call
                    continue
                found = RESULT.search(text.rstrip())
                result = found.group(1) if found else "-1"
            if call is not None:
                call.end, call.result = number, int(result)
    return [call for call in calls if call.end is not None and call.result >= 0]


def records_of(data):
    """The records of one write to a segment: (type, id, body)."""
    place = 0
    while place + HEADER <= len(data):
        body_size = int.from_bytes(data[place + 16:place + 20], "little")
        fields_size = int.from_bytes(data[place + 20:place + 22], "little")
        kind = data[place + 22]
        fields = place + HEADER
        if not 1 <= kind <= 8 or fields + fields_size + body_size > len(data):
            return
        body = data[fields + fields_size:fields + fields_size + body_size]
        yield kind, int.from_bytes(data[fields:fields + 8], "little"), body
        size = HEADER + fields_size + body_size
        place += (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


class Journal:
    """Maps each record to when it was durable. The keys are (PUT, body) and (another type, id)."""

    def __init__(self, calls):
        self.durable = {}
        self.sync_count = 0
        syncs = {}
        for call in calls:
            if call.name in ("fdatasync", "fsync"):
                syncs.setdefault(call.file, []).append(call)
                self.sync_count += 1
        for call in calls:
            if not call.name.startswith("pwrite") or call.data.startswith(SEGMENT_MAGIC):
                continue
            synced = [sync.end for sync in syncs.get(call.file, ()) if sync.begin > call.end]
            for kind, number, body in records_of(call.data):
                key = (kind, body.decode() if kind == PUT else number)
                self.durable.setdefault(key, []).append(min(synced, default=None))


class Sent:
    """Says when each byte was sent to which client. The port of a client names it."""

    def __init__(self, calls):
        self.pieces = {}
        for call in calls:
            if call.connection is None:
                continue
            pieces = self.pieces.setdefault(int(call.connection.group(1)), [])
            before = pieces[-1][0] if pieces else 0
            pieces.append((before + call.result, call.begin))

    def when(self, port, place):
        return next(begin for upto, begin in self.pieces[port] if upto > place)
