"""Tests the program elapse: how it finds a command, its help and its version."""

import os
import re
import subprocess

import support

LACKING_PROGRAM = os.environ.get("ELAPSE_LACKING_PROGRAM", "elapse-lacking")

COMMANDS = ("replay", "generate", "run", "cron", "check", "export", "ended", "import", "backup",
            "show") + (("serve", "password") if support.HAS_SERVER else ())


class Main(support.ProgramTest):
    def test_no_command(self):
        self.assert_usage_error("elapse", says=("command is missing",))

    def test_unknown_commands(self):
        for name in ("play", "Replay", "", "replays"):
            with self.subTest(name=name):
                self.assert_usage_error("elapse", name, says=("unknown command", f"'{name}'"))
                self.assert_usage_error("elapse", "help", name, says=("unknown", f"'{name}'"))
        self.assert_usage_error("elapse", "two\nlines\x1b", says=(r"'two\x0alines\x1b'",))

    def test_unknown_options(self):
        for option in ("--versio", "--json", "-v", "-"):
            with self.subTest(option=option):
                self.assert_usage_error("elapse", option, says=("unknown option", f"'{option}'"))

    def test_help(self):
        output = self.succeed("--help")
        self.assertTrue(output.startswith("Usage: elapse "), output)
        for name in (*COMMANDS, "help", "--version"):
            self.assertIn(name, output)
        self.assertEqual(self.succeed("-h"), output)
        self.assertEqual(self.succeed("help"), output)

    def test_help_of_a_command(self):
        options = {"cron": ("EXPRESSION", "--zone", "--next"),
                   "replay": ("--structure", "--tick", "--json", "--plot", *support.STRUCTURES),
                   "generate": ("orders", "--orders", "--paid", "--seed"),
                   "show": ("--structure", "--slots", "--now", "--random", "--path", "--step"),
                   "check": ("DIRECTORY", "--repair"), "export": ("DIRECTORY",),
                   "ended": ("FILE", "--key", "--tube", "--since"), "import": ("DIRECTORY", "--segment-bits"), "backup": ("TARGET",),
                   "serve": ("--listen", "--data", "--durability", "--auth", "--tls-key", "-l", "-F"),
                   "password": ("NAME", "RIGHTS", "TUBES"),
                   "run": ("--data", "every", "cron", "--exec", "--workers", "--tick", "--strict", "--stats")}
        for name in COMMANDS:
            with self.subTest(command=name):
                output = self.succeed("help", name)
                self.assertTrue(output.startswith(f"Usage: elapse {name} "), output)
                for words in (*options[name], "--help", "--version"):
                    self.assertIn(words, output)
                self.assertRegex(output, r"(?m)^Examples?:$")
                self.assertEqual(self.succeed(name, "--help"), output)
                self.assertEqual(self.succeed(name, "-h"), output)

    def test_help_fits_a_terminal(self):
        for arguments in (("--help",), *((name, "--help") for name in COMMANDS)):
            for line in self.succeed(*arguments).splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_version(self):
        project = (support.SOURCE_ROOT / "CMakeLists.txt").read_text()
        version = re.search(r"^project\(elapse VERSION (\S+)", project, re.MULTILINE).group(1)
        for arguments in ((), *((name,) for name in COMMANDS)):
            self.assertEqual(self.succeed(*arguments, "--version"), f"elapse {version}\n")

    def test_an_output_that_is_full(self):
        for command, *arguments in (("elapse", "--help"), ("elapse", "--version"),
                                    ("elapse replay", "help", "replay")):
            with open("/dev/full", "wb") as full:
                outcome = self.run_program(*arguments, stdout=full)
            self.assertEqual(outcome.status, support.STATUS_FAILED, outcome)
            self.assertEqual(outcome.errors,
                             f"{command}: standard output: No space left on device\n")


class Lacking(support.ProgramTest):
    """A program without the server and its client."""

    SERVER = ("without the server (ELAPSE_SERVER)", "libevent-dev libssl-dev")
    CLIENT = ("without the client (ELAPSE_CLIENT)", "libhiredis-dev libcurl4-openssl-dev")

    def run_lacking(self, *arguments):
        return subprocess.run([LACKING_PROGRAM, *arguments], capture_output=True, check=False, text=True)

    def test_a_command_that_it_lacks(self):
        lacking = {"serve": self.SERVER, "password": self.SERVER, "put": self.CLIENT, "cancel": self.CLIENT, "reschedule": self.CLIENT,
                   "lookup": self.CLIENT, "list": self.CLIENT, "stats": self.CLIENT, "top": self.CLIENT,
                   "work": self.CLIENT}
        for name, says in lacking.items():
            for arguments in ((name,), (name, "--help"), ("help", name)):
                with self.subTest(arguments=arguments):
                    done = self.run_lacking(*arguments)
                    self.assertEqual((done.returncode, done.stdout), (support.STATUS_USAGE, ""), done)
                    self.assertTrue(done.stderr.startswith(f"elapse: {name}: this program was built "),
                                    done.stderr)
                    for words in says:
                        self.assertIn(words, done.stderr)

    def test_its_help_does_not_have_them(self):
        help_text = self.run_lacking("--help").stdout
        self.assertNotIn("serve", help_text)
        self.assertNotIn("  put ", help_text)
        self.assertIn("  replay ", help_text)

    def test_a_command_that_no_program_has(self):
        done = self.run_lacking("play")
        self.assertEqual(done.returncode, support.STATUS_USAGE)
        self.assertIn("unknown command 'play'", done.stderr)


class Manual(support.ProgramTest):
    """The man page tells of all there is."""

    PAGE = support.SOURCE_ROOT / "docs/man/elapse.1"

    def test_it_tells_of_everything(self):
        page = self.PAGE.read_text()
        for option in ("structure", "tick", "json", "plot", "orders", "paid", "seed"):
            self.assertRegex(page, rf"(?m)^\.It Fl Fl {option}\b")
        for name in (*COMMANDS, *support.STRUCTURES):
            self.assertRegex(page, rf"(?m)^\.Cm {name}\b")
        for field in self.replay("-", stdin=support.HEADER):
            self.assertRegex(page, rf"(?m)^\.It .*\b{field}\b")
        self.assertIn(f".Dl {support.HEADER}", page)

    def test_its_example_is_a_trace(self):
        example = re.search(r"(?s)\.Bd -literal -offset indent\n(time_us.*?)\.Ed",
                            self.PAGE.read_text()).group(1)
        self.assert_figures(self.replay("-", stdin=example), started=1, restarted=1, stopped=1,
                            pending=0)


if __name__ == "__main__":
    support.main()
