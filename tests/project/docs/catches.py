#!/usr/bin/env python3
"""catches.py COMPILER GENERATOR: page.py and links.py find each kind of fault, planted in a small
project, and find none in the sound one."""

import pathlib
import sys
import tempfile
import unittest

import links
import page

PROGRAM = '```c\n#include <stdio.h>\nint main(void)\n{\n    puts("hello");\n}\n```\n'
PRINTED = "\n```text\nhello\n```\n"
TESTED = "`project/a_test.c::it_works`"
SOUND = "# A\n\n[The guide](docs/guide/README.md#tests) " + TESTED + "\n\n" + PROGRAM + PRINTED + "\n```sh\necho a | cat\n```\n"
PLANTED_IN_BLOCKS = (
    ("puts(", "int unused; puts(", "unused variable"),
    ("puts(", "return 3; puts(", "status 3"),
    ("hello\n```", "hallo\n```", "output differs"),
    (PROGRAM, "", "follows no block"),
    ("echo a | cat", "false | cat", "status 1"),
    ("echo a | cat", "sudo true", "reaches out"),
    ("```sh", "```python", "a block of kind python"),
    (PRINTED, "\n```c\nputs();\n```\n", "`<!-- test: in WRAPPER -->`"),
    (PRINTED, "\n<!-- test: by docs/guide/testing.md -->\n```sh\ntrue\n```\n", "does not run it"),
    (PRINTED, "\n```cpp\nint main() { return 4; }\n```\n", "status 4"),
    (PRINTED, "\n```cpp\nint main() { return nothing; }\n```\n", "nothing"),
    (PRINTED, "\n<!-- test: from docs/guide/testing.md -->\n```c\nputs();\n```\n", "no such lines"),
)
PLANTED_LINKS = (
    ("README.md#tests", "absent.md", "no such file"),
    ("README.md#tests", "README.md#test", "no such heading"),
    ("# A\n", "# A\n\nSee docs/guide/absent.md.\n", "no such page"),
    ("# A\n", "# A\n\n| `tests/` | `unit` |\n", "no such file or folder"),
    ("[The guide](docs/guide/README.md#tests)", "", "no link to the guide"),
    (TESTED, "`project/b_test.c::it_works`", "no such file below tests/"),
    (TESTED, "`project/a_test.c::it_worked`", "no such test"),
    (TESTED, "`project/a_test.c::it_rests`", "no such test"),
)


class Catches(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="elapse-catches-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.write("README.md", SOUND)
        self.write("docs/guide/README.md", "# Tests\n\n[Tests](testing.md)\n")
        self.write("docs/guide/testing.md", "# Tests\n\nThis page is for all.\n\n`tests/project/docs`\n")
        self.write("tests/project/docs/untested.txt", "")
        self.write("tests/project/a_test.c",
                   "TEST(it_works)\nstatic void it_rests(void)\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def expect_each(self, planted, check):
        self.assertEqual(check(), [])
        for old, new, expected in planted:
            with self.subTest(expected):
                self.write("README.md", SOUND.replace(old, new, 1))
                found = check()
                self.assertEqual(len(found), 1, found)
                self.assertIn(expected, found[0])

    def test_blocks(self):
        tools = page.Tools(compiler=sys.argv[1], generator=sys.argv[2], options=["-Wall"])
        self.expect_each(PLANTED_IN_BLOCKS,
                         lambda: page.check_page(self.root, "README.md", tools, []))

    def test_links(self):
        self.expect_each(PLANTED_LINKS, lambda: links.check(self.root))

    def test_a_page_that_the_guide_leaves_out(self):
        self.write("docs/guide/other.md", "# Other\n\nIt has no such line.\n")
        self.assertEqual(links.check(self.root), ["docs/guide/README.md: other.md is not in it",
                          "docs/guide/other.md:3: it does not begin with what the page is for"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
