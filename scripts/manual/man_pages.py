#!/usr/bin/env python3
"""man_pages.py [--without-queue] FOLDER [HEADERS]: makes the manual pages of section 3 from the
public headers (include/elapse), and writes them into FOLDER/man3: a page for each topic of PAGES,
and for each function and type a page that refers to that one. The date is that of
docs/man/elapse.7. With --without-queue the pages of the library elapse-queue are left out."""

import dataclasses
import pathlib
import re
import sys

import headers
import mdoc

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LINK = "cc program.c $(pkg-config --cflags --libs {library})"
WITHOUT_PAGE = {"attributes.h"}  # nothing in it is for calling


@dataclasses.dataclass
class Page:
    name: str
    header: str
    title: str = ""  # that of the header
    sections: tuple = ()  # of the header ("/* ---- x ---- */"); none: all of it
    also: tuple = ()  # items of other sections
    see: tuple = ()
    example_at_head: bool = True  # that of the header's head; else those below it
    library: str = "elapse"  # that a program links with

    def has(self, item):
        elsewhere = any(item.name in (page.name, *page.also) for page in PAGES if page is not self)
        here = not self.sections or item.section in self.sections
        return item.name in self.also or (here and not elsewhere)


STRUCTURES = ("elapse_wheel", "elapse_heap", "elapse_dials", "elapse_hashed")
PAGES = (
    Page("elapse_timer", "timer.h", see=STRUCTURES),
    Page("elapse_wheel", "wheel.h", see=("elapse_timer", "elapse_structure")),
    Page("elapse_heap", "heap.h", see=("elapse_timer", "elapse_structure")),
    Page("elapse_dials", "dials.h", see=("elapse_timer", "elapse_structure")),
    Page("elapse_hashed", "hashed.h", see=("elapse_timer", "elapse_structure")),
    Page("elapse_structure", "structure.h", see=(*STRUCTURES, "elapse_timer", "elapse_shape")),
    Page("elapse_shape", "shape.h", example_at_head=False,
         see=("elapse_dials", "elapse_hashed", "elapse_allocator")),
    Page("elapse_allocator", "allocator.h", see=("elapse_scheduler", "elapse_dials")),
    Page("elapse_error", "error.h"),
    Page("elapse_version", "version.h"),
    Page("elapse_cron", "cron.h", see=("elapse_task",)),
    Page("elapse_scheduler", "scheduler.h", sections=("", "life", "time"),
         see=("elapse_task", "elapse_pull", "elapse_statistics", "elapse_allocator")),
    Page("elapse_task", "task.h", see=("elapse_scheduler", "elapse_cron")),
    Page("elapse_list", "list.h", see=("elapse_scheduler", "elapse_task")),
    Page("elapse_pull", "pull.h", see=("elapse_scheduler", "elapse_task")),
    Page("elapse_statistics", "scheduler.h", "what a scheduler counts, and how late its actions began",
         sections=("statistics",), see=("elapse_scheduler",), example_at_head=False),
    Page("elapse_queue", "queue.h", see=("elapse_job", "elapse_scheduler"), library="elapse-queue"),
    Page("elapse_job", "job.h", see=("elapse_queue", "elapse_cron"), library="elapse-queue"),
)


class Manual:
    def __init__(self, folder):
        self.headers = headers.read_all(folder)
        self.page_of = {}  # of functions and types
        self.constants = {}  # with their comments
        for page in PAGES:
            for item in self.items(page):
                if item.kind != "define":
                    self.page_of[item.name] = page
                else:
                    self.constants[item.name] = item.comment
                if item.kind == "enum":
                    self.constants.update({each.name: each.comment for each in item.members})
        self.complain()

    def items(self, page):
        header = self.headers.get(page.header)
        if header is None:
            raise headers.Fault(f"{page.header}: there is no such header for {page.name}(3)")
        return [item for item in header.items
                if page.has(item) and not item.private and not item.part_of]

    def complain(self):
        with_page = {page.header for page in PAGES} | WITHOUT_PAGE
        for name, header in self.headers.items():
            if name not in with_page:
                raise headers.Fault(f"{name}: no page of the manual is about it")
            if name in WITHOUT_PAGE:
                continue
            for item in header.items:
                if not (item.private or item.part_of or item.name in self.page_of
                        or item.name in self.constants):
                    raise headers.Fault(f"{name}:{item.line}: {item.name} is on no page")
                if item.comment is None and not item.private:
                    raise headers.Fault(f"{name}:{item.line}: {item.name} has no comment")

    def functions(self, page):
        return [item for item in self.items(page) if item.kind == "function"]

    def errors(self, header, item, seen=()):
        """The errors that a function names, and those of the function that it refers to."""
        text = item.comment.clauses.get("Errors", "") if item.comment else ""
        found = [name for name in self.constants
                 if name.startswith("ELAPSE_ERROR_")
                 and re.search(rf"\b(ELAPSE_ERROR_)?{name[len('ELAPSE_ERROR_'):]}\b", text)]
        same = re.match(r"as (\w+)", text)
        for other in header.functions() if same else []:
            noun = re.match(r"elapse_([a-z]+_)?", item.name)[0]
            if other.name in (same[1], noun + same[1]) and other.name not in seen:
                found += self.errors(header, other, (*seen, item.name))
        return sorted(set(found), key=list(self.constants).index)


class PageWriter:
    def __init__(self, manual, page):
        self.manual, self.page = manual, page
        self.header = manual.headers[page.header]
        self.items = manual.items(page)
        self.functions = manual.functions(page)
        self.referred = set(page.see)
        self.names = {member.name for item in self.items for member in item.members}
        self.writer = mdoc.Writer(self.mark)

    def mark(self, word):
        """The mdoc macro for a word, or None."""
        core = word.strip("`")
        owner = self.manual.page_of.get(core)
        is_function = owner and any(item.name == core for item in self.manual.functions(owner))
        if is_function and owner is self.page:
            return "Fn", core
        if is_function:
            self.referred.add(owner.name)
            return "Xr", core, "3"
        if core in self.manual.constants or core == "NULL":
            return "Dv", core
        if core in self.manual.headers and word[0] != "`":
            first = next((page for page in PAGES if page.header == core), None)
            if first is None or first is self.page:
                return "In", "elapse/" + core
            self.referred.add(first.name)
            return "Xr", first.name, "3"
        if core.endswith("()"):
            return "Fn", core[:-2]
        if re.match(r"(docs|src|include)/", core):
            return "Pa", core
        if word[0] == "`":
            return ("Fa", core) if re.fullmatch(r"\*?\w+", core) else ("Ql", mdoc.argument(core))
        return None

    def write(self, date):
        self.writer.lines.append(f".\\\" Made from include/elapse/{self.page.header}: do not edit.")
        self.writer.macro("Dd", date)
        self.writer.macro("Dt", self.page.name.upper(), "3")
        self.writer.macro("Os")
        self.name()
        self.synopsis()
        self.description()
        self.types()
        self.each_function()
        self.threads()
        self.examples()
        self.errors()
        self.see_also()
        return "\n".join(self.writer.lines) + "\n"

    def aliases(self):
        """The other names of the page."""
        names = [item.name for item in self.items
                 if item.kind != "define" and item.name != self.page.name]
        return list(dict.fromkeys(names))  # a struct and a function may have one name

    def name(self):
        self.writer.section("NAME")
        names = [self.page.name, *self.aliases()]
        for name in names[:-1]:
            self.writer.macro("Nm", name, ",")
        self.writer.macro("Nm", names[-1])
        self.writer.macro("Nd", mdoc.escape(self.page.title or self.header.title))
        self.writer.section("LIBRARY")
        self.writer.lines.append("Elapse")
        library = self.page.library
        self.writer.macro("Pq", "lib" + library, ",", "Fl", "l" + library)

    def synopsis(self):
        self.writer.section("SYNOPSIS")
        self.writer.macro("In", "elapse/" + self.page.header)
        for item in self.items:
            if item.kind in ("struct", "enum"):
                self.writer.macro("Vt", f'"{item.declaration}"', ";")
        for item in self.functions:
            returned, arguments = re.match(rf"(.*?) ?{item.name} ?\((.*)\)$",
                                           item.declaration).groups()
            self.writer.macro("Ft", f'"{returned}"')
            self.writer.macro("Fo", item.name)
            for each in arguments.split(", "):
                self.writer.macro("Fa", f'"{each}"')
            self.writer.macro("Fc")
        self.writer.macro("Pp")
        self.writer.macro("Dl", LINK.format(library=self.page.library))

    def is_main(self):
        return not self.page.title

    def head_blocks(self):
        """The description and the examples that the head of the header has."""
        description, examples = [], []
        for block in self.header.head.effect:
            code = block.kind == "literal" and re.search(r"[;{]$|;  +//", block.text, re.M)
            if not code:
                description.append(block)
                continue
            if description and description[-1].text.endswith(":"):
                examples.append(description.pop())
            examples.append(block)
        return description, examples

    def description(self):
        self.writer.section("DESCRIPTION")
        description = self.head_blocks()[0]
        if self.is_main():
            title = self.header.title
            self.writer.blocks(description or [headers.Block("text", f"This is {title}.")])
            return
        main = next(page for page in PAGES if page.header == self.page.header and not page.title)
        self.referred.add(main.name)
        self.writer.text("This is a part of")
        self.writer.macro("In", f"elapse/{self.page.header}", ";")
        self.writer.macro("Xr", main.name, "3")
        self.writer.lines.append("describes the whole header.")
        begin = next((number for number, block in enumerate(description)
                      if "holds for every function below" in block.text), None)
        if begin is None:
            raise headers.Fault(f"{self.page.header}: no «... holds for every function below»")
        rules = [description[begin]]
        for block in description[begin + 1:]:
            if block.kind != "item":
                break
            rules.append(block)
        self.writer.blocks(rules)

    def types(self):
        groups = []
        for item in self.items:
            if item.kind == "function":
                continue
            if groups and item.comment is groups[-1][0].comment and item.kind == "define":
                groups[-1].append(item)
            else:
                groups.append([item])
        if not groups:
            return
        self.writer.section("TYPES AND CONSTANTS")
        self.writer.list("tag", "-width", "Ds")
        for group in groups:
            self.type(group)
        self.writer.end_list()

    def type(self, group):
        item = group[0]
        if item.kind == "define":
            self.heading("Dv", [each.name for each in group])
        else:
            self.writer.item("Vt", f'"{item.declaration}"')
        self.writer.blocks(self.effect(item))
        if item.opaque or not item.members:
            return
        self.writer.list("tag", "-width", "Ds")
        members = list(item.members)
        while members:
            same = [members.pop(0)]
            while members and members[0].comment is same[0].comment:
                same.append(members.pop(0))
            if item.kind == "enum":
                self.heading("Dv", [each.name for each in same])
            else:
                self.heading("Fa", [f'"{each.declaration}"' for each in same])
            self.writer.blocks(same[0].comment.blocks)
        self.writer.end_list()

    def heading(self, macro, names):
        if len(names) == 1:
            self.writer.item(macro, names[0])
            return
        self.writer.item("Xo")
        for name in names[:-1]:
            self.writer.macro(macro, name, ",")
        self.writer.macro(macro, names[-1])
        self.writer.macro("Xc")

    def each_function(self):
        if not self.functions:
            return
        self.writer.section("FUNCTIONS")
        self.writer.list("tag", "-width", "Ds")
        functions = list(self.functions)
        while functions:
            same = [functions.pop(0)]
            while functions and functions[0].comment is same[0].comment:
                same.append(functions.pop(0))
            self.heading("Fn", [each.name for each in same])
            comment = same[0].comment
            self.writer.blocks(self.effect(same[0]))
            for label in ("Errors", "Cost", "Threads"):
                if label in comment.clauses:
                    self.writer.labelled(label, comment.clauses[label])
        self.writer.end_list()

    def rule(self, label):
        """The rule at the head of the header, or else those of the functions."""
        if label in self.header.rules:
            return [self.header.rules[label]]
        said = [item.comment.clauses[label] for item in self.functions
                if label in item.comment.clauses]
        return list(dict.fromkeys(said))

    def threads(self):
        if not self.functions:
            return
        self.writer.section("THREADS")
        for text in self.rule("Threads"):
            self.writer.text(text[0].upper() + text[1:])

    def effect(self, item):
        """The text on its effect, without code that is shown under EXAMPLES."""
        return [block for block in item.comment.effect
                if self.page.example_at_head or block.kind != "literal"]

    def examples(self):
        if self.page.example_at_head:
            blocks = self.head_blocks()[1]
        else:
            blocks = [block for item in self.items for block in item.comment.effect
                      if block.kind == "literal"]
        if not blocks:
            raise headers.Fault(f"{self.page.header}: no example for {self.page.name}(3)")
        self.writer.section("EXAMPLES")
        self.writer.blocks(blocks)

    def errors(self):
        if not self.functions:
            return
        self.writer.section("ERRORS")
        by_error = {}
        for item in self.functions:
            for error in self.manual.errors(self.header, item):
                by_error.setdefault(error, []).append(item.name)
        if not by_error:
            self.writer.text("No function of this page can fail.")
            return
        self.writer.list("tag", "-width", "Ds")
        for error in sorted(by_error, key=list(self.manual.constants).index):
            self.writer.item("Bq", "Er", error)
            self.writer.blocks(self.manual.constants[error].blocks)
            self.writer.lines.append("From")
            names = by_error[error]
            for name in names[:-1]:
                self.writer.macro("Fn", name, ",")
            self.writer.macro("Fn", names[-1], ".")
        self.writer.end_list()
        if len({name for names in by_error.values() for name in names}) < len(self.functions):
            self.writer.text("The other functions cannot fail.")

    def see_also(self):
        self.writer.section("SEE ALSO")
        names = sorted(self.referred - {self.page.name})
        for name in names:
            self.writer.macro("Xr", name, "3", ",")
        self.writer.macro("Xr", "elapse", "7")


def write_all(folder, include, libraries=("elapse", "elapse-queue")):
    manual = Manual(include)
    date = re.search(r"^\.Dd (.*)$", (ROOT / "docs/man/elapse.7").read_text(), re.M)[1]
    pages = {}
    for page in (each for each in PAGES if each.library in libraries):
        writer = PageWriter(manual, page)
        pages[page.name] = writer.write(date)
        pages.update({name: f".so man3/{page.name}.3\n" for name in writer.aliases()})
    man3 = pathlib.Path(folder) / "man3"
    man3.mkdir(parents=True, exist_ok=True)
    for old in man3.glob("elapse*.3"):
        old.unlink()
    for name, text in pages.items():
        (man3 / f"{name}.3").write_text(text)
    return pages


def main():
    arguments = sys.argv[1:]
    libraries = ("elapse", "elapse-queue")
    if arguments[:1] == ["--without-queue"]:
        arguments.pop(0)
        libraries = ("elapse",)
    if len(arguments) not in (1, 2):
        sys.exit("usage: man_pages.py [--without-queue] FOLDER [HEADERS]")
    try:
        write_all(arguments[0], arguments[1] if len(arguments) == 2 else ROOT / "include/elapse",
                  libraries)
    except headers.Fault as fault:
        sys.exit(f"man_pages.py: {fault}")


if __name__ == "__main__":
    main()
