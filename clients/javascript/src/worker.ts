/** The worker: takes jobs, and runs a handler for each. */
import { hostname } from "node:os";
import { CLIENT_OPTIONS, Client, clientOptionsOf } from "./client.js";
import type { ClientOptions, LeaseOutcome } from "./client.js";
import { LONGEST_TIMER_MS, Link, LostError, sleep, timerUntil, unlessAborted } from "./connection.js";
import {
  CancelledError,
  ElapseError,
  LeaseLostError,
  ReplyError,
  StoppedError,
  TimeLimitError,
  UnavailableError,
} from "./errors.js";
import { Job } from "./job.js";
import { countJob, inJobSpan } from "./tracing.js";
import { arrayOf, durationMs, nameOf, onlyOptions } from "./values.js";
import type { Argument, Duration, Reply } from "./values.js";

/** Does the work of one job: the job is done when its promise resolves, and has failed when it rejects. */
export type Handler = (job: Job) => unknown;

/** A handler throws it to be called again after this time, or later if the job's backoff says so. */
export class RetryIn extends Error {
  readonly delay: Duration;
  /** Whether it counts as an attempt; if not, the job is due exactly then. */
  readonly counts: boolean;

  constructor(delay: Duration, reason = "to be tried again", options: { counts?: boolean } = {}) {
    super(reason);
    onlyOptions("RetryIn", options, ["counts"]);
    this.name = "RetryIn";
    durationMs(delay, "delay");
    this.delay = delay;
    this.counts = options.counts ?? true;
  }
}

/** A handler throws it to set the job aside until somebody kicks it. */
export class Bury extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = "Bury";
  }
}

/** How a hand-out ended. `lost`: the lease had ended. `returned`: the worker stopped before it was done. */
export type Outcome = "done" | "failed" | "buried" | "cancelled" | "lost" | "returned";

/** Functions that the worker calls. What they throw goes to `error`. */
export interface Hooks {
  /** Before a handler runs. */
  before?: (job: Job) => void;
  /** When the server has the outcome of a job. */
  after?: (job: Job, outcome: Outcome) => void;
  /** When a handler has failed. The default writes a line to standard error, except for RetryIn. */
  failure?: (job: Job, error: unknown) => void;
  /** When something else went wrong; the worker goes on. The default writes to standard error. */
  error?: (error: unknown) => void;
}

export interface WorkerOptions extends ClientOptions {
  /** The client for all but RESERVE, and the server of it; without one the worker makes one from these options. */
  client?: Client;
  /** How many handlers run at a time; the default is 8. */
  concurrency?: number;
  /** Stops the worker, as `stop` does. */
  signal?: AbortSignal;
  /** The signals of the process that stop the worker; the default is SIGTERM and SIGINT. */
  signals?: readonly NodeJS.Signals[];
  /** How long running handlers have when the worker stops; the default is 30 s. */
  grace?: Duration;
  /** How long a handler may take; without it a handler that hangs keeps its job. */
  timeLimit?: Duration;
  hooks?: Hooks;
}

const OWN_OPTIONS: Readonly<Record<Exclude<keyof WorkerOptions, keyof ClientOptions>, true>> = {
  client: true,
  concurrency: true,
  signal: true,
  signals: true,
  grace: true,
  timeLimit: true,
  hooks: true,
};
const WORKER_OPTIONS: readonly string[] = [...CLIENT_OPTIONS, ...Object.keys(OWN_OPTIONS)];

/** A job in hand. */
interface Held {
  job: Job;
  controller: AbortController;
  /** By `performance.now()`: when the lease ends, as far as this process knows. */
  leaseEnds: number;
  /** By `performance.now()`: when its lease is extended next, at the latest. */
  extendAt: number;
  /** The worker gives it back: what its handler still does counts no more. */
  isGivenUp: boolean;
  /** Ends the wait for the handler. */
  giveUp: (reason: ElapseError) => void;
}

const WAIT_MS = 1000; // of a RESERVE: a worker that stops waits for its reply
const ACK_DELAY_MS = 5;
const MOST_ACKS = 100;
const MOST_JOBS = 1000; // of one RESERVE
const LAST_WORDS_MS = 5000; // how long a worker that stops tries to give a job back
const PAUSE_AFTER_ERROR_MS = 1000;
const LONGEST_EXTEND_PAUSE_MS = 1000;

export class Worker {
  readonly #handlers: (tube: string) => Handler | undefined;
  readonly #tubes: readonly string[];
  readonly #client: Client;
  readonly #ownsClient: boolean;
  readonly #link: Link;
  readonly #concurrency: number;
  readonly #graceMs: number;
  readonly #timeLimitMs: number | undefined;
  readonly #hooks: Hooks;
  readonly #signals: readonly NodeJS.Signals[];
  readonly #signal: AbortSignal | undefined;
  readonly #stopping = new AbortController();
  /** Ends the wait for the handlers, when the worker stops. */
  readonly #hurrying = new AbortController();
  readonly #held = new Set<Held>();
  readonly #running = new Set<Promise<void>>();
  #freed: (() => void) | undefined;
  #acks: Held[] = [];
  #ackTimer: NodeJS.Timeout | undefined;
  #acking = new Set<Promise<void>>();
  #leaseTimer: NodeJS.Timeout | undefined;
  #extending = false;
  #run: Promise<void> | undefined;

  /**
   * A worker for these tubes. One handler does the jobs of all of them, or an object has a handler for
   * each tube. Nothing happens before `run`.
   */
  constructor(
    tubes: string | readonly string[],
    handler: Handler | Readonly<Record<string, Handler>>,
    options: WorkerOptions = {},
  ) {
    onlyOptions("a worker", options, WORKER_OPTIONS);
    onlyOptions("hooks", options.hooks ?? {}, ["before", "after", "failure", "error"]);
    this.#tubes = Array.isArray(tubes) ? [...(tubes as readonly string[])] : [tubes as string];
    for (const tube of this.#tubes) nameOf(tube, "tube");
    if (this.#tubes.length === 0) throw new TypeError("a worker needs a tube");
    // Programs in JavaScript have no types that refuse it.
    const given = handler as Handler | Readonly<Record<string, Handler>> | null | undefined;
    if (given === null || (typeof given !== "function" && typeof given !== "object")) {
      throw new TypeError(`a worker needs a handler, or an object with one for each tube, and not ${typeof handler}`);
    }
    this.#handlers = typeof handler === "function" ? () => handler : (tube) => handler[tube];
    const without = this.#tubes.find((tube) => typeof this.#handlers(tube) !== "function");
    if (without !== undefined) throw new TypeError(`there is no handler for the tube '${without}'`);
    this.#concurrency = options.concurrency ?? 8;
    if (!Number.isInteger(this.#concurrency) || this.#concurrency < 1) throw new RangeError("concurrency: 1 or more");
    if (options.client !== undefined && typeof (options.client as Partial<Client>).isClosed !== "boolean") {
      throw new TypeError("client: a Client; the options of a client stand beside it");
    }
    const named = {
      name: `${hostname()}:${process.pid}`,
      ...options.client?.connectOptions,
      ...clientOptionsOf(options),
    };
    this.#ownsClient = options.client === undefined;
    this.#client = options.client ?? new Client(named);
    this.#link = new Link(named, durationMs(options.silence ?? 12_000, "silence") + WAIT_MS);
    this.#graceMs = timerMs(options.grace ?? 30_000, "grace");
    this.#timeLimitMs = options.timeLimit === undefined ? undefined : timerMs(options.timeLimit, "timeLimit");
    if (this.#timeLimitMs === 0) throw new RangeError("timeLimit: more than 0; without one there is no limit");
    this.#hooks = options.hooks ?? {};
    this.#signals = options.signals ?? ["SIGTERM", "SIGINT"];
    this.#signal = options.signal;
  }

  /**
   * Works until `stop`, the signal of the options, or a signal of the process. Resolves when every job is
   * done or given back. Rejects if the server refuses to hand out: a wrong password, a right that is missing; and if
   * the `client` of the options was closed.
   */
  run(): Promise<void> {
    this.#run ??= this.#work();
    return this.#run;
  }

  /**
   * Stops: takes no more jobs, gives back what has not begun, and waits for the handlers that run. When
   * `grace` is over it aborts their signals and gives their jobs back. A second signal of the process ends the grace.
   * A handler calls it without awaiting it, because it waits for the handler.
   */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#run?.catch(() => undefined);
  }

  async #work(): Promise<void> {
    const stop = (): void => {
      this.#stopping.abort();
    };
    const stopBySignal = (): void => {
      if (this.#isStopping) this.#hurrying.abort();
      stop();
    };
    for (const signal of this.#signals) process.on(signal, stopBySignal);
    this.#signal?.addEventListener("abort", stop, { once: true });
    if (this.#signal?.aborted === true) stop();
    try {
      await this.#takeJobs();
    } finally {
      stop();
      await this.#drain();
      for (const signal of this.#signals) process.off(signal, stopBySignal);
      this.#signal?.removeEventListener("abort", stop);
      this.#link.destroy();
      if (this.#ownsClient) await this.#client.close();
    }
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #takeJobs(): Promise<void> {
    const { signal } = this.#stopping;
    while (!this.#isStopping) {
      // What is done could not be told any more, and each job would come again and again.
      if (this.#client.isClosed) throw new UnavailableError("the client of the worker is closed");
      const free = Math.min(this.#concurrency - this.#running.size, MOST_JOBS);
      if (free === 0) {
        await unlessAborted(new Promise<void>((resolve) => (this.#freed = resolve)), signal);
        continue;
      }
      try {
        const connection =
          this.#link.current ??
          (await unlessAborted(this.#link.connected(performance.now() + this.#patienceMs), signal));
        if (connection === undefined) return;
        this.#isReached();
        const args: Argument[] = ["RESERVE", ...this.#tubes, "COUNT", String(free), "WAIT", `${WAIT_MS}ms`, "DETAILS"];
        this.#begin(arrayOf(await connection.send(args)));
      } catch (error) {
        if (error instanceof ReplyError && !["TRYAGAIN", "DISKERROR", "OOM", "LIMIT"].includes(error.code)) throw error;
        const isUnreached = error instanceof LostError || error instanceof UnavailableError;
        // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- it may have been stopped meanwhile
        if (!this.#isStopping && !(isUnreached && this.#wasUnreached)) this.#report(error);
        this.#wasUnreached ||= isUnreached;
        if (!isUnreached) {
          await sleep(PAUSE_AFTER_ERROR_MS, signal);
        }
      }
    }
  }

  /** How long to try to connect until an error is told, once. */
  readonly #patienceMs = 3000;
  #wasUnreached = false;

  /** Who was told that no server is reached is told when one is. */
  #isReached(): void {
    if (this.#wasUnreached && this.#hooks.error === undefined)
      console.error("elapse worker: a server is reached again");
    this.#wasUnreached = false;
  }

  /** Begins the jobs of a reply of RESERVE, or gives them back if the worker stops. */
  #begin(replies: Reply[]): void {
    const now = performance.now();
    const back: Job[] = [];
    for (const reply of replies) {
      const controller = new AbortController();
      let job: Job;
      try {
        job = new Job(this.#client, reply, controller.signal);
      } catch (error) {
        this.#report(error);
        continue;
      }
      if (this.#isStopping) {
        back.push(job);
        continue;
      }
      const held: Held = {
        job,
        controller,
        leaseEnds: now + job.ttrMs,
        extendAt: now + job.ttrMs / 3,
        isGivenUp: false,
        giveUp: () => undefined,
      };
      this.#held.add(held);
      const running = this.#handle(held)
        .catch((error: unknown) => {
          this.#report(error);
        })
        .finally(() => {
          this.#running.delete(running);
          this.#freed?.();
        });
      this.#running.add(running);
    }
    if (back.length > 0) this.#giveBack(back);
    this.#watchLeases();
  }

  #giveBack(jobs: Job[]): void {
    const giving: Promise<void> = this.#client
      .nack(jobs, { in: 0 }, performance.now() + LAST_WORDS_MS)
      .then(
        (words) => {
          this.#reportErrors(words);
          for (const job of jobs) this.#hook(() => this.#hooks.after?.(job, "returned"));
        },
        (error: unknown) => {
          this.#report(error);
        },
      )
      .finally(() => this.#acking.delete(giving));
    this.#acking.add(giving);
  }

  /** Runs the handler of a job. Its place is free when this ends; the ACK may still be on its way. */
  async #handle(held: Held): Promise<void> {
    const { job } = held;
    const begun = performance.now();
    const givenUp = new Promise<never>((_, reject) => {
      held.giveUp = (reason) => {
        held.isGivenUp = true;
        held.controller.abort(reason);
        reject(reason);
      };
    });
    givenUp.catch(() => undefined);
    const limit =
      this.#timeLimitMs === undefined
        ? undefined
        : setTimeout(() => {
            held.giveUp(new TimeLimitError(`the handler took longer than ${String(this.#timeLimitMs)} ms`));
          }, this.#timeLimitMs);
    let outcome: Outcome;
    try {
      this.#hook(() => this.#hooks.before?.(job));
      const handler = this.#handlers(job.tube) as Handler;
      await Promise.race([
        givenUp,
        inJobSpan(job, async () => {
          await handler(job);
          // A piece of a gather is never acknowledged without arriving, unless it was cancelled.
          if (job.gatherer !== undefined && job.ending === undefined && !job.signal.aborted) await job.done();
        }),
      ]);
      if (job.ending !== undefined) {
        await job.ending;
        this.#end(held, "done");
      } else if (job.signal.reason instanceof LeaseLostError) {
        this.#end(held, "lost");
      } else {
        this.#ack(held);
      }
      outcome = "done";
    } catch (error) {
      outcome = await this.#fail(held, error);
    } finally {
      clearTimeout(limit);
    }
    countJob(job.tube, outcome, (performance.now() - begun) / 1000);
  }

  /** Tells the server that a handler failed. */
  async #fail(held: Held, error: unknown): Promise<Outcome> {
    const { job } = held;
    const reason: unknown = job.signal.reason;
    if (error instanceof LeaseLostError || reason instanceof LeaseLostError) return this.#end(held, "lost");
    if (
      job.ending !== undefined &&
      (await job.ending.then(
        () => true,
        () => false,
      ))
    ) {
      // The job is done already; what the handler did then has failed.
      this.#failed(job, error);
      return this.#end(held, "done");
    }
    let words: (LeaseOutcome | ElapseError)[];
    let outcome: Outcome = "failed";
    try {
      if (reason instanceof StoppedError) {
        outcome = "returned";
        words = await this.#client.nack([job], { in: 0 }, performance.now() + LAST_WORDS_MS);
      } else {
        if (!(reason instanceof CancelledError)) this.#failed(job, error);
        if (error instanceof Bury) {
          outcome = "buried";
          words = await this.#client.bury([job], error.message);
        } else if (error instanceof RetryIn) {
          words = await this.#client.nack(
            [job],
            error.counts ? { after: error.delay, error: error.message } : { in: error.delay, error: error.message },
          );
        } else {
          words = await this.#client.nack([job], { error: errorText(error) });
        }
      }
    } catch (failure) {
      this.#report(failure);
      return this.#end(held, "lost");
    }
    this.#reportErrors(words);
    return this.#end(held, outcomeOf(words[0], outcome));
  }

  #failed(job: Job, error: unknown): void {
    this.#hook(() => {
      if (this.#hooks.failure !== undefined) this.#hooks.failure(job, error);
      else if (!(error instanceof RetryIn)) console.error(failureText(job, error));
    });
  }

  #end(held: Held, outcome: Outcome): Outcome {
    this.#held.delete(held);
    this.#hook(() => this.#hooks.after?.(held.job, outcome));
    return outcome;
  }

  /** Gathers ACKs: they leave after 5 ms, or when there are 100. */
  #ack(held: Held): void {
    this.#acks.push(held);
    if (this.#acks.length >= MOST_ACKS) this.#flush();
    else
      this.#ackTimer ??= setTimeout(() => {
        this.#flush();
      }, ACK_DELAY_MS);
  }

  #flush(): void {
    clearTimeout(this.#ackTimer);
    this.#ackTimer = undefined;
    const done = this.#acks;
    if (done.length === 0) return;
    this.#acks = [];
    const acking: Promise<void> = this.#client
      .ack(done.map((held) => held.job))
      .then(
        (words) => {
          this.#reportErrors(words);
          done.forEach((held, i) => this.#end(held, outcomeOf(words[i], "done")));
        },
        (error: unknown) => {
          this.#report(error);
          for (const held of done) this.#end(held, "lost");
        },
      )
      .finally(() => this.#acking.delete(acking));
    this.#acking.add(acking);
  }

  /** Sets the timer of the leases: the next EXTEND of all, or the next lease that ends. */
  #watchLeases(): void {
    clearTimeout(this.#leaseTimer);
    this.#leaseTimer = undefined;
    let next = Infinity;
    for (const held of this.#held) {
      if (held.isGivenUp || held.job.isDone) continue;
      next = Math.min(next, held.leaseEnds, this.#extending ? Infinity : held.extendAt);
    }
    if (next === Infinity) return;
    this.#leaseTimer = setTimeout(() => {
      const now = performance.now();
      for (const held of this.#held) {
        if (!held.isGivenUp && !held.job.isDone && now >= held.leaseEnds) {
          held.giveUp(
            new LeaseLostError(`the lease of job ${held.job.id} has ended, because it could not be extended`),
          );
        }
      }
      if (!this.#extending) void this.#extend();
      this.#watchLeases();
    }, timerUntil(next));
  }

  /**
   * Extends all leases, in one command. What a partition of a cluster does not answer is not waited for, because the other
   * leases would end meanwhile: it is in the next command, which comes soon then.
   */
  async #extend(): Promise<void> {
    const all = [...this.#held].filter((held) => !held.isGivenUp && !held.job.isDone);
    if (all.length === 0) return;
    this.#extending = true;
    const sentAt = performance.now();
    for (const held of all) held.extendAt = sentAt + held.job.ttrMs / 3;
    try {
      const words = await this.#client.extendOnce(
        all.map((held) => held.job),
        Math.max(...all.map((held) => held.leaseEnds)),
      );
      all.forEach((held, i) => {
        const word = words[i];
        if (word instanceof ElapseError) {
          held.extendAt = performance.now() + Math.min(LONGEST_EXTEND_PAUSE_MS, held.job.ttrMs / 10);
        } else {
          this.#extended(held, word, sentAt);
        }
      });
    } catch (error) {
      this.#report(error);
    } finally {
      this.#extending = false;
      this.#watchLeases();
    }
  }

  #extended(held: Held, word: LeaseOutcome | undefined, sentAt: number): void {
    if (word === "ok") held.leaseEnds = sentAt + held.job.ttrMs;
    // What is done, or is being told to the server, is not judged by an EXTEND that came behind it.
    if (!this.#held.has(held) || this.#acks.includes(held) || held.job.ending !== undefined) return;
    if (word === "cancelled" && !held.controller.signal.aborted) {
      held.controller.abort(new CancelledError(`job ${held.job.id} was cancelled`));
    } else if (word === "gone" && !held.controller.signal.aborted) {
      held.controller.abort(new LeaseLostError(`the lease of job ${held.job.id} has ended`));
    }
  }

  /** Waits for the handlers, for as long as `grace` says; then gives their jobs back. */
  async #drain(): Promise<void> {
    await Promise.race([Promise.allSettled(this.#running), sleep(this.#graceMs, this.#hurrying.signal)]);
    this.#hurrying.abort();
    for (const held of this.#held) {
      if (!this.#acks.includes(held)) held.giveUp(new StoppedError("the worker stops"));
    }
    await Promise.allSettled(this.#running);
    this.#flush();
    await Promise.allSettled(this.#acking);
    clearTimeout(this.#leaseTimer);
  }

  #hook(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#report(error);
    }
  }

  /** Reports the errors in the place of words: of those that say the same, one. */
  #reportErrors(words: readonly (LeaseOutcome | ElapseError)[]): void {
    const errors = words.filter((word) => word instanceof ElapseError);
    for (const error of new Map(errors.map((one) => [one.message, one])).values()) this.#report(error);
  }

  #report(error: unknown): void {
    try {
      if (this.#hooks.error !== undefined) this.#hooks.error(error);
      else console.error(`elapse worker: ${errorText(error)}`);
    } catch {
      // A hook for errors that throws has nobody to tell.
    }
  }
}

/** A duration that a timer of Node can have: with a longer one it would end at once. */
function timerMs(duration: Duration, name: string): number {
  const ms = durationMs(duration, name);
  if (ms > LONGEST_TIMER_MS) throw new RangeError(`${name}: at most ${LONGEST_TIMER_MS} ms, which are 24 days`);
  return ms;
}

function outcomeOf(word: LeaseOutcome | ElapseError | undefined, otherwise: Outcome): Outcome {
  if (word === "ok") return otherwise;
  return word === "cancelled" ? "cancelled" : "lost";
}

/** @internal What is written of a handler that has failed, if no hook takes it. */
export function failureText(job: Job, error: unknown): string {
  return `elapse worker: job ${job.id} of ${job.tube} failed: ${errorText(error)}`;
}

/** What NACK tells: the type of the error and its message. */
function errorText(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
