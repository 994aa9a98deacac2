/**
 * For the tests of programs: a server of their own, on a free port, that keeps its jobs in memory, with a
 * clock that the test moves, or in a directory of the test. It ends with the test, or with this process.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { Client } from "./client.js";
import { durationText, onlyOptions } from "./values.js";
import type { Duration } from "./values.js";

export interface ServerOptions {
  /** The program; the default is the variable ELAPSE_PROGRAM, or `elapse` in PATH. */
  program?: string;
  /** The directory of the queue; without it the jobs are in memory. */
  data?: string;
  /** The port; the default is a free one. */
  port?: number;
  /**
   * The server has a clock that {@link TestServer.advance} moves forward. The default is true for a queue in
   * memory; one in a directory cannot have it.
   */
  clock?: boolean;
  /** More options of `elapse serve`. */
  arguments?: readonly string[];
}

const started = new Set<ChildProcess>();

function killAll(): void {
  for (const one of started) one.kill("SIGKILL");
}

/** A server that runs. */
export class TestServer {
  readonly port: number;
  /** `127.0.0.1:port`, for the clients. */
  readonly address: string;
  readonly #process: ChildProcess;
  readonly #ended: Promise<void>;

  /** @internal */
  constructor(process_: ChildProcess, port: number) {
    this.port = port;
    this.address = `127.0.0.1:${port}`;
    this.#process = process_;
    if (started.size === 0) process.on("exit", killAll);
    started.add(process_);
    this.#ended = new Promise((resolve) => {
      if (process_.exitCode !== null || process_.signalCode !== null) resolve();
      process_.once("exit", () => {
        resolve();
      });
    });
  }

  /** The process of the server. */
  get pid(): number {
    return this.#process.pid as number;
  }

  /**
   * Moves the clock of the server forward: what is due by then is due now, and leases end. Returns when the
   * server has done so.
   */
  async advance(duration: Duration): Promise<void> {
    const client = new Client(this.address);
    try {
      await client.command("CLOCK", "ADVANCE", durationText(duration, "duration"));
    } finally {
      await client.close();
    }
  }

  /** Ends the server by SIGTERM, and waits. */
  stop(): Promise<void> {
    return this.#end("SIGTERM");
  }

  /** Ends the server by SIGKILL, as a crash does, and waits. */
  kill(): Promise<void> {
    return this.#end("SIGKILL");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    this.#process.kill(signal);
    await this.#ended;
    started.delete(this.#process);
    if (started.size === 0) process.off("exit", killAll);
  }
}

/** Starts a server, and waits until it is ready. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  onlyOptions("startServer", options, ["program", "data", "port", "clock", "arguments"]);
  const program = options.program ?? process.env["ELAPSE_PROGRAM"] ?? "elapse";
  const where = options.data === undefined ? ["--durability", "memory"] : ["--data", options.data];
  if (options.clock ?? options.data === undefined) where.push("--test-clock");
  const child = spawn(
    program,
    ["serve", "--listen", `127.0.0.1:${options.port ?? 0}`, ...where, ...(options.arguments ?? [])],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  return new Promise((resolve, reject) => {
    let log = "";
    child.once("error", (error) => {
      reject(
        new Error(
          `the program '${program}' cannot be started: name it in ELAPSE_PROGRAM, or have elapse in PATH: ${error.message}`,
          { cause: error },
        ),
      );
    });
    child.once("exit", (status) => {
      reject(new Error(`${program} serve ended with status ${String(status)}:\n${log}`));
    });
    child.stderr.on("data", (bytes: Buffer) => {
      if (log.length < 100_000) log += bytes.toString("utf8");
      const port = /listening: 127\.0\.0\.1:(\d+)/.exec(log)?.[1];
      if (port !== undefined && log.includes(" ready: ")) resolve(new TestServer(child, Number(port)));
    });
  });
}
