#!/usr/bin/env python3
"""catches.py COMPILER GENERATOR: plants faults into small projects, one at a time, and sees that
page.py and links.py find them; and that they find nothing where nothing is wrong."""

import pathlib
import sys
import tempfile
import unittest

import links
import page

TOOLS = page.Tools(options=["-Wall", "-Wextra"])
WRAPPER = "#include <stdio.h>\n@OUTSIDE@\nvoid within(void);\nvoid within(void)\n{\n@INSIDE@\n}\n"
HELLO = '#include <stdio.h>\nint main(void)\n{\n    puts("hello");\n}\n'


def fence(language, text, mark=None):
    comment = f"<!-- test: {mark} -->\n" if mark else ""
    return f"{comment}```{language}\n{text}```\n"


class Project(unittest.TestCase):
    """A project in a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="elapse-catches-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.write("tests/project/docs/wrappers/plain.c.in", WRAPPER)
        self.write("include/elapse/wheel.h", "\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Blocks(Project):
    """What page.py says of one page."""

    def check(self, text, untested=""):
        self.write("README.md", text)
        self.write("tests/project/docs/untested.txt", untested)
        entries, faults = page.read_untested(self.root / "tests/project/docs/untested.txt")
        return faults + page.check_page(self.root, "README.md", TOOLS, entries)

    def expect_sound(self, *blocks, untested=""):
        self.assertEqual(self.check("\n".join(blocks), untested), [])

    def expect_fault(self, words, *blocks, untested=""):
        faults = self.check("\n".join(blocks), untested)
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(words, faults[0])
        self.assertRegex(faults[0], r"^(README\.md|untested\.txt):[1-9]\d*: ")

    def test_a_program(self):
        self.expect_sound(fence("c", HELLO), "Which prints:\n", fence("text", "hello\n"))
        self.expect_fault("expected ", fence("c", HELLO.replace(";", "")))
        self.expect_fault("unused variable", fence("c", HELLO.replace("puts", "int i; puts")))
        self.expect_fault("status 3", fence("c", HELLO.replace(";\n}", ";\n    return 3;\n}")))
        self.expect_fault("status -6", fence("c", "#include <stdlib.h>\nint main(void)\n{\n    abort();\n}\n"))

    def test_what_a_program_prints(self):
        program = fence("c", HELLO)
        self.expect_fault("other than this", program, fence("text", "hallo\n"))
        self.expect_fault("other than this", program, fence("text", "hello\nhello\n"))
        self.expect_fault("other than this", program, fence("text", ""))
        self.expect_fault("other than this", program, fence("text", "hell…w\n"))
        self.expect_sound(program, fence("text", "h…o\n"))

    def test_a_fragment(self):
        self.expect_sound(fence("c", 'if (puts("a"))\n    ...;\n...\nputs("b");\n', "in plain"))
        self.expect_sound(fence("c", "static int two(void) { return 2; }\n\nputs(\"\" + two() - 2);\n", "in plain"))
        self.expect_fault("`<!-- test: in WRAPPER -->`", fence("c", "puts();\n"))
        self.expect_fault("too few arguments", fence("c", "puts();\n", "in plain"))
        self.expect_fault("no tests/project/docs/wrappers/other.c.in", fence("c", "puts();\n", "in other"))
        self.expect_fault("unknown mark", fence("c", HELLO, "inside plain"))

    def test_commands(self):
        self.expect_sound(fence("sh", "echo a \\\n    b   # so\n"), fence("text", "a b\n"))
        self.expect_sound(fence("sh", "printf 'a\\nb\\nc\\n'\n"), fence("text", "a\n…\nc\n"))
        self.expect_fault("status 1", fence("sh", "false\ntrue\n"))
        self.expect_fault("status 1", fence("sh", "false | true\n"))
        self.expect_fault("status 127", fence("sh", "no-such-command\n"))
        self.expect_fault("other than this", fence("sh", "echo a\n"), fence("text", "b\n"))
        self.expect_fault("other than this", fence("sh", "echo a; echo b\n"), fence("text", "a\n"))
        self.expect_fault("reaches out", fence("sh", "sudo true\n"))
        self.expect_fault("reaches out", fence("sh", "true --prefix /usr/local\n"))

    def test_a_command_that_does_not_end(self):
        patience, page.PATIENCE_S = page.PATIENCE_S, 0.5
        try:
            self.expect_fault("takes longer", fence("sh", "timeout 100 sleep 100\n"))
        finally:
            page.PATIENCE_S = patience

    def test_commands_in_a_copy(self):
        self.expect_sound(fence("sh", "rm README.md include/elapse/wheel.h\n"))
        self.assertTrue((self.root / "README.md").exists())
        self.assertTrue((self.root / "include/elapse/wheel.h").exists())

    def test_a_file_for_commands(self):
        self.expect_sound(fence("c", HELLO, "file a.c"), fence("sh", "cc a.c -o a && ./a\n"), fence("text", "hello\n"))
        self.expect_fault("status", fence("c", HELLO), fence("sh", "cc a.c -o a && ./a\n"))

    def test_cmake(self):
        project = "cmake_minimum_required(VERSION 3.25)\nproject(server LANGUAGES NONE)\n"
        self.expect_sound(fence("cmake", project))
        self.expect_fault("status 1", fence("cmake", project + "add_subdirectory(nowhere)\n"))

    def test_blocks_of_other_kinds(self):
        self.expect_fault("a block of kind indented", "Look:\n\n    here\n\nYes.\n")
        self.expect_fault("a block of kind none", fence("", "a\n"))
        self.expect_fault("a block of kind python", fence("python", "a\n"))
        self.expect_fault("follows nothing", fence("text", "a\n"))
        self.expect_fault("follows nothing", fence("c", HELLO), fence("text", "hello\n"), fence("text", "a\n"))
        self.expect_fault("no end", "```sh\ntrue\n")
        self.expect_sound("1. In a list\n\n    it is no code.\n")

    def test_the_list_of_what_is_not_run(self):
        listed = "README.md | sh | fal?e | for a test\nREADME.md | indented | here* | a drawing\n"
        self.expect_sound(fence("sh", "true\nfalse   # not run\n"), "Look:\n\n    here\n", untested=listed)
        self.expect_fault("not PAGE", fence("sh", "true\n"), untested="README.md | sh | false\n")
        entries, faults = page.read_untested(self.root / "tests/project/docs/untested.txt")
        self.assertEqual((entries, len(faults)), ([], 1))
        self.check(fence("sh", "true\n"), listed)
        entries, _ = page.read_untested(self.root / "tests/project/docs/untested.txt")
        self.assertEqual(len(page.check_untested(self.root, entries)), 2)


class Links(Project):
    """What links.py says of a project."""

    def setUp(self):
        super().setUp()
        self.write("README.md", "# A\n\n[The guide](docs/guide/README.md)\n")
        self.write("docs/guide/README.md", "[Tests](testing.md)\n")
        self.write("docs/guide/testing.md", "# How it is `tested`\n\n`tests/project/docs`\n\n## A\n\n## A\n")
        self.assertEqual(links.check(self.root), [])

    def add(self, text):
        self.write("README.md", "# A\n\n[The guide](docs/guide/README.md)\n" + text)

    def expect_fault(self, words):
        faults = links.check(self.root)
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(words, faults[0])

    def test_links(self):
        for target in ("include/elapse/wheel.h", "include/elapse/", "#a", "https://example.org/x#y",
                       "docs/guide/testing.md#how-it-is-tested", "docs/guide/testing.md#a-1"):
            self.add(f"[over\ntwo lines]({target})\n")
            self.assertEqual(links.check(self.root), [], target)
        for target, words in (("docs/guide/absent.md", "no such file"), ("include/absent/", "no such file"),
                              ("#b", "no such heading"), ("docs/guide/testing.md#a-2", "no such heading"),
                              ("include/elapse/wheel.h#a", "only a page"), ("../x.md", "out of the project"),
                              ("/README.md", "out of the project"), ("build/x", "what is built")):
            self.add(f"[over\ntwo lines]({target})\n")
            self.expect_fault(f"{target}: ")
            self.expect_fault(words)
        self.add("![picture](docs/absent.svg)\n")
        self.expect_fault("no such file")
        self.add("[a]\n\n[a]: absent.md\n")
        self.expect_fault("no such file")
        self.add("`[a](absent.md)`\n\n```sh\n[a](absent.md)\n```\n")
        self.assertEqual(links.check(self.root), [])

    def test_links_of_other_pages(self):
        self.write("examples/README.md", "[up](../absent.md)\n")
        self.expect_fault("examples/README.md:1: ../absent.md")

    def test_names_in_tables(self):
        self.add("| `include/` | `elapse/wheel.h`, `wheel_start()` |\n| `elapse/wheel.h` | |\n| `tests/` | `docs` |\n")
        self.assertEqual(links.check(self.root), [])
        for row in ("| `absent/` | |", "| `elapse/heap.h` | |", "| `tests/` | `unit` |", "| `tests/` | `docs/x.py` |"):
            self.add(row + "\n")
            self.expect_fault("README.md:4: ")

    def test_mentions(self):
        self.write("include/elapse/wheel.h", "/* docs/guide/testing.md has it. */\n")
        self.assertEqual(links.check(self.root), [])
        self.write("include/elapse/wheel.h", "\n/* docs/guide/absent.md has it. */\n")
        self.expect_fault("include/elapse/wheel.h:2: docs/guide/absent.md")

    def test_pages_and_kinds_left_out(self):
        self.write("docs/guide/other.md", "# Other\n")
        self.expect_fault("other.md is not in it")
        (self.root / "docs/guide/other.md").unlink()
        (self.root / "tests/other").mkdir()
        self.expect_fault("tests/other is not in it")
        (self.root / "tests/other").rmdir()
        self.write("README.md", "# A\n")
        self.expect_fault("no link to the guide")


if __name__ == "__main__":
    TOOLS.compiler, TOOLS.generator = sys.argv[1], sys.argv[2]
    unittest.main(argv=sys.argv[:1])
