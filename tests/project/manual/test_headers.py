#!/usr/bin/env python3
"""The public headers are the manual. The comment of each function, or the head of its header, says
the effect, the errors or that it cannot fail, the cost, the thread rule, and since when; each time
has a unit."""

import os
import pathlib
import shutil
import tempfile
import unittest

import rules

COMPILER = os.environ.get("CC", "cc")

# A function added to a header, and the fault to be found in it.
WHOLE = "/* Gives more. Cost: O(1). Cannot fail. Any thread. Since 0.2. */\n"
FUNCTION = "ELAPSE_API int elapse_more(void);\n"
PLANTED = (
    (FUNCTION, "elapse_more has no comment"),
    (WHOLE.replace("Gives more. ", "") + FUNCTION, "elapse_more: no effect"),
    (WHOLE.replace("Cannot fail. ", "") + FUNCTION, "elapse_more: neither errors nor"),
    (WHOLE.replace("Cost: O(1). ", "") + FUNCTION, "elapse_more: no cost"),
    (WHOLE.replace("Any thread. ", "") + FUNCTION, "elapse_more: no threads"),
    (WHOLE + "ELAPSE_API enum elapse_error elapse_more(void);\n",
     "elapse_more: returns an error, but names none"),
    (WHOLE + "ELAPSE_API int elapse_more(int delay);\n", "elapse_more: delay has no unit"),
    ("/* A macro. */\n#define elapse_make(name) int name(void)\nelapse_make(elapse_more);\n",
     "elapse_more: it is missing in the manual"),
)


class Headers(unittest.TestCase):
    def test_they_say_all_that_a_manual_says(self):
        self.assertEqual(rules.faults(COMPILER, rules.INCLUDE), [])

    def test_each_planted_fault_is_found(self):
        for planted, expected in PLANTED:
            with self.subTest(expected), tempfile.TemporaryDirectory() as folder:
                include = pathlib.Path(folder) / "include"
                shutil.copytree(rules.INCLUDE, include)
                with (include / "elapse/version.h").open("a") as header:
                    header.write("\n" + planted)
                found = rules.faults(COMPILER, include)
                self.assertTrue(any(expected in fault for fault in found), found)


if __name__ == "__main__":
    rules.run_tests()
