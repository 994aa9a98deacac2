#!/usr/bin/env python3
"""amalgamate.py [--archive] DIRECTORY: writes elapse.h and elapse.c, the whole library in two
files, and elapse_queue.h and elapse_queue.c, the durable queue beside them; with --archive all four
as elapse-VERSION-two-files.tar.gz, which a release offers.

What goes in front of what follows from the #include lines alone: a file stands behind
those that it includes. A new header or source joins by being in its folder. The same
sources give the same bytes."""

import collections
import gzip
import io
import pathlib
import re
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PUBLIC = ROOT / "include"
STRUCTURES = [ROOT / "src/structures"]
# What src/os and src/base hold for the program, its server and the library elapse-queue, not for
# this library.
OF_OTHERS = {"linux_files.c", "linux_program.c", "linux_program_read.c", "linux_regions.c", "linux_sockets.c",
             "memory_files.c", "test_clock.c", "arena.c", "base64.c", "buffer.c", "decimal.c", "history.c", "json_escape.c", "json_writer.c", "node_json.c", "utf8.c"}
SCHEDULER = [ROOT / "src" / room for room in ("base", "os", "cron", "scheduler")]
QUEUE = [ROOT / "src" / room for room in ("engine/journal", "queue", "engine", "engine/store")]
QUEUE_FILES = [ROOT / "src/base/arena.c", ROOT / "src/os/linux_files.c", ROOT / "src/os/linux_regions.c",
               ROOT / "src/os/memory_files.c"]
QUEUE_HEADERS = [PUBLIC / "elapse/job.h", PUBLIC / "elapse/queue.h"]

COMMENT_OR_TEXT = re.compile(
    r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)
STATIC_NAME = re.compile(r"^static\b[^;{}=()\[\]]*?\b(\w+)\s*[(\[=;]", re.M)
DIRECTIVE = re.compile(r"^\s*#\s*(\w+)\s*(.*?)\s*$")
INCLUDED = re.compile(r'^(?:<([^>]+)>|"([^"]+)")$')

# Before any header of the C library: what the scheduler asks it for.
FEATURES = """\
#ifndef ELAPSE_STRUCTURES_ONLY
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#ifndef _TIME_BITS
#define _TIME_BITS 64
#endif
#endif
"""

HEAD = """\
Elapse {version}: the whole library in two files, elapse.h and elapse.c.

    cc -std=c11 -O2 -pthread program.c elapse.c

elapse.h says everything there is to know about its functions; it serves C99, C11 and
C++. elapse.c is C11 with the builtins of GCC (GCC, Clang) and needs the C library and
threads. With ELAPSE_STRUCTURES_ONLY defined, for both files, the scheduler and cron are
left out; the structures alone also compile with -ffreestanding and need no more than
memset and strcmp. With ELAPSE_WHEEL_SMALL defined, for everything that includes elapse.h, a
wheel takes half the memory.

The files are made from the sources of Elapse; a change belongs there.

{licence}"""

# Before any header of the C library: what the queue asks it for.
QUEUE_FEATURES = """\
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#ifndef _TIME_BITS
#define _TIME_BITS 64
#endif

/* Of the private headers, which elapse.c has too, not every function is called here. */
#pragma GCC diagnostic ignored "-Wunused-function"
"""

# The structures alone have no clocks, threads or cron.
QUEUE_NEEDS = """\
#ifdef ELAPSE_STRUCTURES_ONLY
#error "elapse_queue.h needs the whole of elapse.h: do not define ELAPSE_STRUCTURES_ONLY"
#endif
"""

QUEUE_HEAD = """\
Elapse {version}: the durable queue in two files, elapse_queue.h and elapse_queue.c, beside elapse.h
and elapse.c of the same version.

    cc -std=c11 -O2 -pthread program.c elapse.c elapse_queue.c -lxxhash

elapse_queue.h says everything there is to know about its functions; it includes elapse.h, and
serves C99, C11 and C++. elapse_queue.c is C11 with the builtins of GCC (GCC, Clang) and needs the C
library, threads, and xxHash 0.8 or later: with XXH_INLINE_ALL defined, its header alone.

The files are made from the sources of Elapse; a change belongs there.

{licence}"""


class Fault(Exception):
    """What is wrong, and where, in one line."""


def name_of(file):
    return file.relative_to(ROOT).as_posix()


def without_comments(text):
    def blank(match):
        found = match.group()
        if found.startswith("/"):
            return re.sub(r"[^\n]", " ", found)
        return found
    return COMMENT_OR_TEXT.sub(blank, text)


def static_names(text):
    """The functions and variables that a source has to itself."""
    return set(STATIC_NAME.findall(without_comments(text)))


def renamed(text, names, stem):
    """The text with these names told apart from those of other files; members, tags, comments
    and strings stay as they are."""
    name = r"(?<![\w.])(?<!->)(?<!struct )(?<!enum )(" + "|".join(sorted(names)) + r")\b"
    pattern = re.compile(COMMENT_OR_TEXT.pattern + "|" + name, re.S)
    return pattern.sub(lambda found: f"{found[1]}_in_{stem}" if found[1] else found[0], text)


class Source:
    """A file of the library: its lines, and what each line includes, if it does."""

    def __init__(self, file, shared_names):
        text = file.read_text()
        if file.suffix == ".c" and shared_names:
            text = renamed(text, shared_names, file.stem)
        self.lines = text.splitlines()
        self.included = {}
        depth = 0
        guards = 1 if file.suffix == ".h" else 0
        for number, line in enumerate(without_comments(text).splitlines()):
            directive = DIRECTIVE.match(line)
            if directive is None:
                continue
            word, rest = directive.groups()
            if word in ("if", "ifdef", "ifndef"):
                depth += 1
            elif word == "endif":
                depth -= 1
            elif word == "include":
                place = f"{name_of(file)}:{number + 1}"
                if depth > guards:
                    raise Fault(f"{place}: an #include that depends on a condition")
                self.included[number] = target_of(file, rest, place)


def target_of(file, what, place):
    """A file of the library; or, of the C library, the name."""
    found = INCLUDED.match(what)
    if found is None:
        raise Fault(f"{place}: an #include of neither <file> nor \"file\"")
    system, own = found.groups()
    if own is None and not system.startswith("elapse/"):
        return system
    target = (PUBLIC / system if own is None else file.parent / own).resolve()
    if not target.is_file():
        raise Fault(f"{place}: there is no {what}")
    return target


class Library:
    """The files read, each once. A name that several sources have to themselves is made
    one for each."""

    def __init__(self, files):
        self.sources = {}
        self.statics = {file: static_names(file.read_text()) for file in files}
        counts = collections.Counter(name for names in self.statics.values() for name in names)
        self.shared = {name for name, count in counts.items() if count > 1}

    def source(self, file):
        if file not in self.sources:
            self.sources[file] = Source(file, self.statics.get(file, set()) & self.shared)
        return self.sources[file]

    def reached_from(self, files):
        """These files and what they include, each behind what it includes itself."""
        ordered, entered = [], set()

        def visit(file):
            if file in entered:
                return
            entered.add(file)
            for target in self.source(file).included.values():
                if isinstance(target, pathlib.Path):
                    visit(target)
            ordered.append(file)

        for file in files:
            visit(file)
        return ordered

    def part(self, files, present):
        """The text of files, without the includes of headers that are `present`. Those of
        the C library that it brings are added there."""
        pieces = []
        for file in files:
            source = self.source(file)
            kept = [f"/* ---- {name_of(file)} ---- */", ""]
            for number, line in enumerate(source.lines):
                target = source.included.get(number)
                if isinstance(target, pathlib.Path) or target in present:
                    continue
                if target is not None:
                    present.add(target)
                # Where includes were left out, no heap of empty lines stays behind.
                if line or kept[-1]:
                    kept.append(line)
            pieces.append("\n".join(kept).rstrip() + "\n")
        return "\n".join(pieces)


def head(version, form=HEAD):
    text = form.format(version=version, licence=(ROOT / "LICENSE").read_text().strip())
    return "/*\n" + "".join(f" * {line}".rstrip() + "\n" for line in text.splitlines()) + " */\n"


def version_of(text):
    found = re.search(r'^#define ELAPSE_VERSION_TEXT\s+"([^"]+)"$', text, re.M)
    if found is None:
        raise Fault("include/elapse/version.h: there is no ELAPSE_VERSION_TEXT")
    return found.group(1)


def amalgamate():
    lower = [file for room in STRUCTURES for file in sorted(room.glob("*.c"))]
    upper = [file for room in SCHEDULER for file in sorted(room.glob("*.c"))
             if file.name not in OF_OTHERS]
    queue = [*QUEUE_FILES, *(file for room in QUEUE for file in sorted(room.glob("*.c")))]
    library = Library(lower + upper + queue)
    public = [file for file in sorted(PUBLIC.glob("elapse/*.h")) if file not in QUEUE_HEADERS]
    structures = library.reached_from(lower)
    everything = library.reached_from(lower + upper)

    # A public header is the structures' if one of their sources needs it.
    headers = library.reached_from(public)
    lower_headers = [file for file in headers if file in structures]
    upper_headers = [file for file in headers if file not in structures]
    private = [file for file in everything if PUBLIC not in file.parents]
    lower_sources = [file for file in private if file in structures]
    upper_sources = [file for file in private if file not in structures]

    # Headers of the C library that are there in every case, and with the scheduler.
    always = set()
    lower_header_text = library.part(lower_headers, always)
    whole = set(always)
    upper_header_text = library.part(upper_headers, whole)
    whole_headers = set(whole)
    lower_source_text = library.part(lower_sources, always)
    whole |= always
    upper_source_text = library.part(upper_sources, whole)

    # The queue's source has the private headers of the rooms below it once more; their functions
    # are those of elapse.c.
    queue_sources = [file for file in library.reached_from(queue) if PUBLIC not in file.parents]
    present = set(whole_headers)
    queue_header_text = library.part(QUEUE_HEADERS, present)
    queue_source_text = library.part(queue_sources, present)

    version = version_of((PUBLIC / "elapse/version.h").read_text())
    top, queue_top = head(version), head(version, QUEUE_HEAD)
    condition = "\n#ifndef ELAPSE_STRUCTURES_ONLY\n\n"
    end = "\n#endif /* ELAPSE_STRUCTURES_ONLY */\n"
    return {
        "elapse.h": top + "#ifndef ELAPSE_H\n#define ELAPSE_H\n\n" + lower_header_text + condition
                    + upper_header_text + end + "\n#endif\n",
        "elapse.c": top + FEATURES + '\n#include "elapse.h"\n\n' + lower_source_text + condition
                    + upper_source_text + end,
        "elapse_queue.h": queue_top + QUEUE_NEEDS + '\n#include "elapse.h"\n\n' + queue_header_text,
        "elapse_queue.c": queue_top + QUEUE_FEATURES + '\n#include "elapse_queue.h"\n\n'
                          + queue_source_text,
    }


def archive(files, stem):
    """The files as a folder in a compressed archive; the same files give the same bytes."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as compressed, \
            tarfile.open(fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"{stem}/{name}")
            entry.size = len(text.encode())
            entry.mode = 0o644
            tar.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


def main():
    arguments = sys.argv[1:]
    packs = arguments[:1] == ["--archive"]
    if packs:
        arguments = arguments[1:]
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: amalgamate.py [--archive] DIRECTORY", file=sys.stderr)
        return 2
    directory = pathlib.Path(arguments[0])
    try:
        files = amalgamate()
        version = version_of((PUBLIC / "elapse/version.h").read_text())
        directory.mkdir(parents=True, exist_ok=True)
        if packs:
            path = directory / f"elapse-{version}-two-files.tar.gz"
            path.write_bytes(archive(files, f"elapse-{version}"))
            print(path)
            return 0
        for name, text in files.items():
            (directory / name).write_text(text)
    except Fault as fault:
        print(f"amalgamate.py: {fault}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"amalgamate.py: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    for name, text in files.items():
        print(f"{directory / name}: {len(text.splitlines())} lines")
    return 0


sys.exit(main())
