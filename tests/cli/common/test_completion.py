"""Tests elapse completion: three shells must offer every option of every command."""

import re
import shutil
import subprocess

import support

COMMANDS = ("run", "replay", "generate", "cluster", "cron", "check", "export", "ended", "import", "backup",
            "show") + (("serve", "password") if support.HAS_SERVER else ()) + (
                ("put", "cancel", "reschedule", "kick", "pause", "resume", "limit", "arrive", "lookup", "list", "find",
                 "groups", "clients", "history", "whoami", "stats", "top", "work", "reserve", "ack", "nack", "bury", "extend")
                if support.HAS_CLIENT else ())


class Completion(support.ProgramTest):
    def options(self, command):
        """The options that the help of the command lists."""
        return set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", self.succeed(command, "--help"), re.M))

    def test_every_option_in_every_shell(self):
        for shell in ("bash", "zsh", "fish"):
            text = self.succeed("completion", shell)
            for command in COMMANDS:
                self.assertIn(command, text)
                for option in self.options(command):
                    wanted = f"-l {option[2:]}" if shell == "fish" else option
                    self.assertIn(wanted, text, (shell, command))

    def complete(self, *words):
        script = self.write("elapse.bash", self.succeed("completion", "bash"))
        quoted = " ".join(f"'{word}'" for word in words)
        done = subprocess.run(
            ["bash", "-c", f"source ./{script}; COMP_WORDS=({quoted}); "
                           f"COMP_CWORD={len(words) - 1}; _elapse; printf '%s\\n' ${{COMPREPLY[*]}}"],
            cwd=self.directory, capture_output=True, text=True, check=True, timeout=60)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash_completes(self):
        self.assertEqual(self.complete("elapse", "sho"), ["show"])
        self.assertEqual(set(self.complete("elapse", "")),
                         {*COMMANDS, "completion", "help", "--help", "--version"})
        for command in COMMANDS:
            self.assertEqual(set(self.complete("elapse", command, "--")), self.options(command))
        self.assertEqual(self.complete("elapse", "completion", "z"), ["zsh"])
        self.assertEqual(self.complete("elapse", "replay", "elapse.b"), ["elapse.bash"])

    def test_values_of_options(self):
        for command, option, words in (("put", "ifkey", "replace keep fail debounce"),
                                       ("list", "state", "delayed ready reserved buried"),
                                       ("cancel", "state", "delayed ready reserved buried"),
                                       ("serve", "durability", "sync interval= memory")):
            if command not in COMMANDS:
                continue
            self.assertEqual(self.complete("elapse", command, "x", f"--{option}", ""), words.split())
            self.assertEqual(self.complete("elapse", command, f"--{option}", words[:2]),
                             [word for word in words.split() if word.startswith(words[:2])])
            self.assertIn(f":value:({words})", self.succeed("completion", "zsh"))
            self.assertIn(f"-l {option} -x -a '{words}'", self.succeed("completion", "fish"))

    def test_tubes_of_the_server(self):
        """The program is asked for them: here a stand-in of it, which tells what it was asked."""
        name = self.write("elapse", "#!/bin/sh\n[ \"$1 $2\" = 'list --limit' ] && printf 'mails\\nmain jobs\\n'\n")
        (self.directory / name).chmod(0o700)
        if not support.HAS_CLIENT:
            return
        for command in ("put", "pause", "list", "stats", "reserve"):
            self.assertEqual(self.complete("./elapse", command, "mai"), ["mails", "main", "jobs"])
        self.assertEqual(self.complete("./elapse", "work", "other", "mail"), ["mails"])
        self.assertEqual(self.complete("./elapse", "pause", "other", "mail"), [])
        self.assertEqual(self.complete("./elapse", "check", "mail"), [])
        # No server: no words and no message.
        self.write("elapse", "#!/bin/sh\necho no server >&2; exit 6\n")
        self.assertEqual(self.complete("./elapse", "put", "mai"), [])

    def test_the_shells_accept_it(self):
        for shell in ("bash", "zsh", "fish"):
            if shutil.which(shell) is None:
                continue
            name = self.write("completion", self.succeed("completion", shell))
            subprocess.run([shell, "-n", name], cwd=self.directory, check=True, timeout=60)

    def test_wrong_shells(self):
        for arguments, words in (((), "give one shell"), (("bash", "zsh"), "give one shell"),
                                 (("csh",), "no completion for 'csh'")):
            self.assert_usage_error("elapse completion", "completion", *arguments, says=(words,))

    def test_help(self):
        self.assertEqual(self.succeed("help", "completion"), self.succeed("completion", "--help"))


if __name__ == "__main__":
    support.main()
