"""Runs a hundred commands of a new user, among them wrong ones, and checks the status and the message of
each.

The rows run in this order against one server. A row has words that the message must have, because a
message must say what to do. A row without words must print no message.
"""

import re

import support
from client_support import (FAILED, GONE, NO_SERVER, NOT_AUTHORISED, OK, TAKEN, USAGE, ClientTest)

# The status, words of the message or None, words of the output or None, and the command line. @S is the
# address of the server, @H that of its HTTP, @D its directory.
ROWS = (
    # The first steps.
    (USAGE, "a command is missing", None, ""),
    (OK, None, "Commands:", "--help"),
    (OK, None, "Commands:", "help"),
    (OK, None, "elapse ", "--version"),
    (USAGE, "unknown option '--verion'", None, "--verion"),
    (USAGE, "unknown command 'stat'; did you mean 'stats'?", None, "stat"),
    (USAGE, "unknown command 'ls'", None, "ls"),
    (USAGE, "unknown command 'lits'; did you mean 'list'", None, "lits"),
    (USAGE, "unknown command 'enqueue'", None, "enqueue orders x"),
    (USAGE, "unknown command 'serv'; did you mean 'serve'?", None, "serv"),
    (USAGE, "unknown command 'PUT'; did you mean 'put'?", None, "PUT t x"),
    (OK, None, "Usage: elapse put", "help put"),
    (USAGE, "unknown command 'pot'; did you mean 'put'", None, "help pot"),
    # The server that does not start.
    (USAGE, "the file of options nofile: No such file", None, "serve --config nofile"),
    (USAGE, "--auth: nofile: No such file", None, "serve --auth nofile --data e"),
    (USAGE, "--users: nofile: No such file", None, "serve --users nofile --data e"),
    (FAILED, "a/b: No such file or directory: the directory above it is missing", None,
     "serve --data a/b --listen 127.0.0.1:0"),
    (USAGE, "Address already in use; give another address by --listen", None,
     "serve --data e --listen @S"),
    (USAGE, "Address already in use; give another address by --http", None,
     "serve --data e --listen 127.0.0.1:0 --http @H"),
    (USAGE, "has opened this queue", None, "serve --data @D --listen 127.0.0.1:0"),
    (USAGE, "this is a port alone; with its host it is 127.0.0.1:PORT", None, "serve --listen 21011"),
    (USAGE, "the port is missing", None, "serve --listen localhost"),
    (USAGE, "--durability", None, "serve --durability always"),
    (USAGE, "--auth or --users", None, "serve --data e --listen 0.0.0.0:0"),
    # Where the server is.
    (NO_SERVER, "is the server running? 'elapse serve' starts one", None, "stats --server 127.0.0.1:1"),
    (USAGE, "there is no http:// or the like in front of this address", None,
     "stats --server http://@S"),
    (USAGE, "this is a port alone", None, "stats --server 11300"),
    (USAGE, "the port is not a number", None, "stats --server localhost:port"),
    (NO_SERVER, "the port of --listen is wanted, not that of --http", None, "stats --server @H"),
    (NO_SERVER, "no connection: ", None, "stats --server no-such-host.invalid:1"),
    (USAGE, "put the password into a file", None, "stats --token hunter2"),
    (USAGE, "--user needs --token-file or ELAPSE_TOKEN_FILE", None, "stats --user nosuch"),
    (USAGE, "--token-file: nofile: No such file", None, "stats --token-file nofile"),
    (OK, None, "uptime", "stats"),
    # Jobs in.
    (USAGE, "a tube is missing", None, "put"),
    (OK, None, "1 scheduled", "put orders pay1 --key 4711 --in 30m"),
    (OK, None, "2 replaced", "put orders pay2 --key 4711 --in 30m"),
    (USAGE, "a unit is missing", None, "put orders x --in 30"),
    (USAGE, "'30min'", None, "put orders x --in 30min"),
    (USAGE, "is not of the form", None, "put orders x --at tomorrow"),
    (USAGE, "seconds need 000 behind them", None, "put orders x --at 1700000000 --key a"),
    (USAGE, "--cron: '61 * * * *': at character 1: a minute is a number from 0 to 59", None,
     "put orders x --cron '61 * * * *'"),
    (USAGE, "fewer than five fields", None, "put orders x --cron '* *'"),
    (USAGE, "there is no time zone 'Mars/Base'; a zone is a name such as Europe/Berlin", None,
     "put orders x --cron '0 9 * * *' --zone Mars/Base"),
    (USAGE, "--zone needs --cron", None, "put orders x --zone Europe/Berlin"),
    (USAGE, "'kep' is not replace, keep, fail or debounce", None,
     "put orders x --key 4711 --ifkey kep"),
    (TAKEN, "BUSYKEY 2 has this key", None, "put orders x --key 4711 --ifkey fail"),
    (OK, None, "2 kept", "put orders x --key 4711 --ifkey keep"),
    (USAGE, "unknown argument 'more'", None, "put orders a more"),
    (USAGE, "unrecognized option '--delay'", None, "put orders x --delay 5s"),
    (USAGE, "No such file", None, "put orders @nofile"),
    (OK, None, "4 scheduled\n", "put mails --lines --tag a"),
    (OK, None, '{"id":', "put mails x --json"),
    # Looking.
    (OK, None, "orders\n", "list"),
    (OK, None, "4711", "list orders"),
    (GONE, "there is no such tube: 'ordres'; did you mean 'orders'?", None, "list ordres"),
    (GONE, "there is no such tube: 'sms'; 'elapse list' shows the tubes", None, "list sms"),
    (USAGE, "a state is delayed, ready, reserved or buried", None, "list orders --state dead"),
    (USAGE, "a job has no 'stat'; did you mean 'state'?", None, "list orders --columns id,stat"),
    (USAGE, "--newest lists buried jobs alone", None, "list orders --newest --state delayed"),
    (USAGE, "--watch needs a terminal", None, "list orders --watch"),
    (USAGE, "unknown argument 'x'", None, "list orders x"),
    (OK, None, "pay2", "list orders --soonest --columns id,body"),
    (OK, None, "orders", "find 4711"),
    (GONE, "no job has the key '4712'", None, "find 4712"),
    (USAGE, "a key is missing", None, "find"),
    (OK, None, "GROUP", "groups orders"),
    (USAGE, "a tube is missing", None, "groups"),
    (OK, None, "ADDR", "clients"),
    (OK, "", "LATE P99", "history"),  # with a message or without: see test_history of test_client.py
    (USAGE, "unknown argument '90'", None, "history 90"),
    (OK, None, "default", "whoami"),
    (USAGE, "give a tube and a key", None, "lookup 2"),
    (OK, None, "delayed", "lookup --id 2"),
    (OK, None, "pay2", "lookup orders 4711 --body"),
    (GONE, "there is no such job", None, "lookup orders 4712"),
    (USAGE, "'orders' is not the id of a job", None, "lookup --id orders"),
    (GONE, "there is no such tube: 'mail'; did you mean 'mails'?", None, "stats mail"),
    (USAGE, "standard output is no terminal: --once prints one picture", None, "top"),
    (OK, None, "orders", "top --once"),
    # Changing.
    (USAGE, "give one of --in and --at", None, "reschedule orders 4711"),
    (OK, None, "rescheduled", "reschedule orders 4711 --in 1h"),
    (GONE, None, "gone", "reschedule orders 4712 --in 1h"),
    (USAGE, "a key is missing; --all cancels all jobs of the tube", None, "cancel orders"),
    (GONE, None, "4712 gone", "cancel orders 4712"),
    (OK, None, "4711 removed", "cancel orders 4711"),
    (USAGE, "a count is missing, or --all", None, "kick mails"),
    (USAGE, "'all' is not a count of jobs", None, "kick mails all"),
    (OK, None, "kicked 0", "kick mails --all"),
    (GONE, "did you mean 'mails'?", None, "kick mail --all"),
    (USAGE, "a duration is missing, such as 10m", None, "pause mails"),
    (USAGE, "'10': a unit is missing", None, "pause mails 10"),
    (OK, None, "mails ok", "pause mails 10m"),
    (GONE, "did you mean 'mails'?", None, "pause mial 10m"),
    (OK, None, "mails ok", "resume mails"),
    (OK, None, "mails ok", "limit mails --concurrency 2"),
    (OK, None, "concurrency", "limit mails"),
    (USAGE, "CONCURRENCY", None, "limit mails --concurrency 0"),
    (USAGE, "there is no option 'SPEED'", None, "limit mails --speed 2"),
    (OK, None, "mails ok", "limit mails --none"),
    # Working.
    (USAGE, "give --exec PROGRAM or --post URL", None, "work mails"),
    (USAGE, "--exec: cannot run '/nonexistent': No such file", None, "work mails --exec /nonexistent"),
    (USAGE, "--exec: the program is missing", None, "work mails --exec"),
    (USAGE, "options of elapse work come before --exec", None, "work mails --exec --until-empty cat"),
    (USAGE, "--post: 'ftp://x'", None, "work mails --post ftp://x"),
    (OK, "--until-empty behind --exec goes to the program", None,
     "work mails --until-empty --exec true --until-empty"),
    (USAGE, "a tube is missing", None, "reserve"),
    (GONE, "no job is ready", None, "reserve mails"),
    (USAGE, "the lease is missing, such as 3-17: reserve prints it", None, "ack 3"),
    (USAGE, "'4' is not a lease, such as 3-17", None, "ack 3 4"),
    (GONE, None, "3 gone", "ack 3 9-9"),
    # The directory, beside the server and without it.
    (USAGE, "'elapse backup' copies it meanwhile, and the copy can be exported", None, "export @D"),
    (OK, None, None, "backup @D copy"),
    (OK, None, None, "export copy"),
    (FAILED, "copy: File exists", None, "backup @D copy"),
    (USAGE, "nodir: No such file", None, "export nodir"),
    (USAGE, "give the expression in quotes", None, "cron 0 9 * * *"),
    (USAGE, "there is no completion for 'csh', only for bash, zsh and fish", None, "completion csh"),
)


class FirstHour(ClientTest):
    def words_of(self, command):
        return [word.strip("'") for word in re.findall(r"'[^']*'|\S+", command)]

    def test_every_command(self):
        self.assertGreaterEqual(len(ROWS), 100)
        server = self.start("--http", "127.0.0.1:0")
        resp, http = server.addresses()
        addresses = {"@S": resp, "@H": http.removeprefix("http:"), "@D": "d"}
        for status, message, output, command in ROWS:
            for name, value in addresses.items():
                command = command.replace(name, value)
            with self.subTest(command=command):
                outcome = self.client(*self.words_of(command), stdin=b"one\ntwo\n")
                self.assertEqual(outcome.status, status, outcome)
                if message is None:
                    self.assertEqual(outcome.errors, "", outcome)
                else:
                    self.assertIn(message, outcome.errors)
                if output is not None:
                    self.assertIn(output, outcome.output)
                # A message is one line, and after a wrong command line a second one names the help.
                lines = [line for line in outcome.errors.splitlines() if not line.startswith("Try 'elapse")]
                self.assertLessEqual(len(lines), 2, outcome)

    def test_users(self):
        """A password that is wrong, and one that belongs to another user."""
        self.write("right", "open sesame\n")
        self.write("wrong", "close\n")
        self.write_secret("passwords", "open sesame\n")
        self.start("--auth", "passwords")
        for message, command in (
                ("the server asks for a password: give --token-file", "stats"),
                ("the server does not know this password; --user names the user", "stats --token-file wrong"),
                ("look at --user and the file of --token-file", "stats --user nosuch --token-file right")):
            self.fails(NOT_AUTHORISED, message, *command.split())


if __name__ == "__main__":
    support.main()
