"""RabbitMQ: a node of its own in the directory of the contender, without plug-ins.

Queues are durable and classic, messages persistent. The answer of a put is the confirm of the node,
which comes after its files are synced. A connection has as many messages without a confirm as the
window of the workload says.

A delay is the time to live of a queue: what has waited so long there moves to the queue of ready
jobs. There is one queue for each delay, because a message with a time to live of its own waits
until those before it in its queue are gone, however long they have to live. The race knows one
delay a workload, which is the best case. The move itself is not confirmed: a crash may lose a job
that is due just then. Workers consume the queue of ready jobs, with as many jobs in hand as the
window says, and acknowledge them in batches. The node does not answer that, and after a crash may
hand out again what was acknowledged.

It cannot find a message that waits. So nothing can be cancelled, moved or deleted, by key or by
number, and the workloads with these verbs are left out. Its memory says little about a job: it
keeps as much in memory as it likes, and the rest on the disk.
"""

import os
import subprocess

import peers
import server

SCRIPT = "/usr/lib/rabbitmq/bin/rabbitmq-server"

# Where a row says nothing, it is the default. There are no plug-ins.
SETTINGS = (
    ("listeners.tcp.default", "127.0.0.1:{port}", "nothing but this machine"),
    ("heartbeat", "0", "a load that waits does not answer heartbeats"),
    ("log.console", "true", "so that the race can say why it ended"),
    ("log.file", "false", ""),
)


class RabbitMQ(peers.Peer):
    """The node, and the service that says at which port a node listens to others."""

    name = "rabbitmq"
    program = "elapse-bench-server-rabbitmq"
    scale = 0.2
    promises = {"durable": True, "key": False, "leases": True, "early": False,
                "note": "confirms; one queue a delay; moves due jobs without a confirm; "
                        "acknowledgements are not answered; no cancel"}
    verbs = frozenset(("put", "put-now", "drain", "timers"))
    names_process = None

    @classmethod
    def missing_programs(cls):
        return [] if os.path.exists(SCRIPT) else ["rabbitmq-server"]

    def versions(self):
        done = subprocess.run(["dpkg-query", "--show", "--showformat=${Version}",
                               "rabbitmq-server"], capture_output=True, text=True, check=False)
        return f"RabbitMQ {done.stdout.split('-')[0]}" if done.stdout else "RabbitMQ"

    def __init__(self, options, directory):
        super().__init__(options, directory)
        self.names_port, self.node_port = server.free_port(), server.free_port()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def path(self, name):
        return os.path.join(self.directory, name)

    def environment(self):
        return {
            "HOME": self.directory,  # of the cookie, by which nodes know each other
            "RABBITMQ_NODENAME": f"race{self.port}@localhost",
            "RABBITMQ_MNESIA_BASE": self.path("mnesia"),
            "RABBITMQ_LOG_BASE": self.path("log"),
            "RABBITMQ_CONFIG_FILE": self.path("rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": self.path("none"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": self.path("plugins"),
            "RABBITMQ_PID_FILE": self.path("pid"),
            "RABBITMQ_DIST_PORT": str(self.node_port),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS":
                "-kernel inet_dist_use_interface {127,0,0,1}",
            "ERL_EPMD_PORT": str(self.names_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "LC_ALL": "C.UTF-8",
        }

    def command(self):
        """It ends if the race does, however that ends."""
        return ["env", "-C", self.directory,
                *(f"{name}={value}" for name, value in self.environment().items()),
                "setpriv", "--pdeathsig=TERM", "--", SCRIPT]

    def configure(self):
        with open(self.path("rabbitmq.conf"), "w", encoding="ascii") as file:
            for name, value, _ in SETTINGS:
                file.write(f"{name} = {value.format(port=self.port)}\n")
        with open(self.path("plugins"), "w", encoding="ascii") as file:
            file.write("[].\n")

    def start(self):
        is_new = not os.path.exists(self.path("plugins"))
        if is_new:
            self.configure()
        # Else the node would start it, and it would outlive the node.
        self.names_process = subprocess.Popen(
            ["setpriv", "--pdeathsig=TERM", "--",
             "epmd", "-port", str(self.names_port), "-address", "127.0.0.1"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        took_s = super().start()
        if is_new and not self.prepare("setup"):
            raise server.Failure("the queue could not be made")
        return took_s

    def stop(self):
        """It would take a while to end by itself, and the directory goes as well."""
        if self.process is not None:
            self.kill()
        self.process = None

    def kill(self):
        super().kill()
        if self.names_process is not None:
            self.names_process.wait()
            self.names_process = None

    def processes(self):
        more = [] if self.names_process is None else [self.names_process.pid]
        return super().processes() + more


CONTENDERS = {RabbitMQ.name: RabbitMQ}
