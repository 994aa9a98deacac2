/**
 * The calls of BullMQ that programs use most, over Elapse, so that a program can move file by file. What
 * differs is in the README, under "From BullMQ".
 */
import { createHash } from "node:crypto";
import { EventEmitter } from "node:events";
import { Client, clientOptionsOf } from "./client.js";
import type { ClientOptions } from "./client.js";
import { ElapseError } from "./errors.js";
import type { Job as TakenJob } from "./job.js";
import type { JobInfo } from "./look.js";
import type { PutOptions } from "./put.js";
import { Bury, Worker as ElapseWorker, failureText } from "./worker.js";

export interface BackoffOptions {
  type: "fixed" | "exponential";
  /** Milliseconds. */
  delay?: number;
}

export interface JobsOptions {
  /** Milliseconds until the job is due. */
  delay?: number;
  /** A name of its own: while a job has it, `add` with the same one adds nothing. */
  jobId?: string;
  /** How many tries; the default is 1. */
  attempts?: number;
  backoff?: number | BackoffOptions;
  /** 0, the default, comes first. */
  priority?: number;
  /** While a job with the same name and the same `repeat` is there, `add` without a `jobId` adds nothing. */
  repeat?: { every?: number; pattern?: string; tz?: string };
  /** Taken and not used: a completed job is always removed. */
  removeOnComplete?: unknown;
  /** Taken and not used: a failed job is always kept. */
  removeOnFail?: unknown;
}

export interface QueueOptions {
  connection?: (ClientOptions & { host?: string; port?: number }) | undefined;
  defaultJobOptions?: JobsOptions;
}

export type JobState = "delayed" | "waiting" | "active" | "failed" | "unknown";

/** A processor throws it to fail a job for good. */
export class UnrecoverableError extends Error {
  constructor(message = "Unrecoverable") {
    super(message);
    this.name = "UnrecoverableError";
  }
}

const FOR_EVER = "5200w";
const LONGEST_BACKOFF_MS = 365 * 86_400_000;

function clientOptions(connection: QueueOptions["connection"]): ClientOptions {
  const { host, port, ...others } = connection ?? {};
  const options = clientOptionsOf(others); // programs of BullMQ have options of its connection there
  if (host === undefined && port === undefined) return options;
  return { ...options, addresses: `${host ?? "127.0.0.1"}:${port ?? 11300}` };
}

function backoffOf(options: JobsOptions): readonly [number, number] {
  const backoff =
    typeof options.backoff === "number" ? { type: "fixed" as const, delay: options.backoff } : options.backoff;
  const delay = backoff?.delay ?? 0;
  if (backoff?.type !== "exponential") return [delay, delay];
  return [delay, Math.min(LONGEST_BACKOFF_MS, delay * 2 ** (options.attempts ?? 1))];
}

/** The key of a job: its `jobId`, or one of its name and its `repeat`, so that each start of a program finds it. */
function keyOf(name: string, { jobId, repeat }: JobsOptions): string | undefined {
  if (jobId !== undefined && /^\d+$/.test(jobId)) {
    throw new TypeError("jobId: digits alone are the ids of jobs without a jobId");
  }
  const { every, pattern, tz } = repeat ?? {};
  if (jobId !== undefined || (every ?? pattern) === undefined) return jobId;
  const rule = JSON.stringify([name, every, pattern, tz]);
  return `repeat:${createHash("sha256").update(rule).digest("hex")}`;
}

function putOptions(key: string | undefined, options: JobsOptions): PutOptions {
  return {
    ...(key !== undefined ? { key, ifKey: "keep" as const } : {}),
    ...(options.repeat?.every !== undefined ? { every: options.repeat.every } : {}),
    ...(options.repeat?.pattern !== undefined ? { cron: options.repeat.pattern } : {}),
    ...(options.repeat?.tz !== undefined ? { zone: options.repeat.tz } : {}),
    ...(options.repeat === undefined && options.delay !== undefined ? { in: options.delay } : {}),
    attempts: options.attempts ?? 1,
    backoff: backoffOf(options),
    priority: options.priority ?? 0,
  };
}

/** A job of a queue. */
export class Job<Data = unknown, Result = unknown, Name extends string = string> {
  readonly #client: Client;
  /** What `return` of the processor gave. */
  returnvalue: Result | undefined;
  failedReason: string | undefined;

  /** @internal */
  constructor(
    client: Client,
    readonly queueName: string,
    /** The `jobId`, a name that begins with `repeat:` of a job with `repeat`, or a number of the server. */
    readonly id: string,
    readonly name: Name,
    readonly data: Data,
    readonly opts: JobsOptions,
    /** Tries that have failed. */
    public attemptsMade: number,
  ) {
    this.#client = client;
  }

  get #number(): number | undefined {
    return /^\d+$/.test(this.id) ? Number(this.id) : undefined;
  }

  #look(): Promise<JobInfo | undefined> {
    return this.#number === undefined
      ? this.#client.lookup(this.queueName, this.id)
      : this.#client.lookupId(this.#number);
  }

  /** Due after so many milliseconds from now. Throws if a worker has the job, or if it is gone. */
  async changeDelay(delay: number): Promise<void> {
    const word =
      this.#number === undefined
        ? await this.#client.reschedule(this.queueName, this.id, { in: delay })
        : await this.#client.rescheduleId(this.#number, { in: delay });
    if (word !== "rescheduled")
      throw new Error(`job ${this.id} is ${word === "running" ? "active" : "gone"}: its delay has not changed`);
  }

  /** Removes the job. A worker that has it is told to stop by the signal of its processor. */
  async remove(): Promise<void> {
    if (this.#number === undefined) await this.#client.cancel(this.queueName, this.id);
    else await this.#client.cancelId(this.#number);
  }

  /** Makes a delayed job ready. */
  async promote(): Promise<void> {
    await this.#kick();
  }

  /** Makes a failed job ready, with all its tries. */
  async retry(): Promise<void> {
    await this.#kick();
  }

  async #kick(): Promise<void> {
    const number = this.#number ?? (await this.#look())?.id;
    if (number === undefined || (await this.#client.kickId(number)) !== "ok")
      throw new Error(`job ${this.id} is active or gone`);
  }

  /** `unknown`: it is completed, or was removed. */
  async getState(): Promise<JobState> {
    const info = await this.#look();
    switch (info?.state) {
      case "delayed":
        return "delayed";
      case "ready":
        return "waiting";
      case "reserved":
        return "active";
      case "buried":
        return "failed";
      default:
        return "unknown";
    }
  }
}

interface Body {
  name: string;
  data: unknown;
}

/** A queue, which is a tube of the server. */
export class Queue<Data = unknown, Result = unknown, Name extends string = string> {
  readonly #client: Client;
  readonly #defaults: JobsOptions;

  constructor(
    readonly name: string,
    options: QueueOptions = {},
  ) {
    this.#client = new Client(clientOptions(options.connection));
    this.#defaults = options.defaultJobOptions ?? {};
  }

  async add(name: Name, data: Data, options: JobsOptions = {}): Promise<Job<Data, Result, Name>> {
    const opts = { ...this.#defaults, ...options };
    const key = keyOf(name, opts);
    const { id } = await this.#client.put(this.name, JSON.stringify({ name, data }), putOptions(key, opts));
    return new Job<Data, Result, Name>(this.#client, this.name, key ?? String(id), name, data, opts, 0);
  }

  /** Adds many, at the same time, and not in one transaction. */
  addBulk(jobs: readonly { name: Name; data: Data; opts?: JobsOptions }[]): Promise<Job<Data, Result, Name>[]> {
    return Promise.all(jobs.map((job) => this.add(job.name, job.data, job.opts)));
  }

  async getJob(id: string): Promise<Job<Data, Result, Name> | undefined> {
    const info = /^\d+$/.test(id) ? await this.#client.lookupId(Number(id)) : await this.#client.lookup(this.name, id);
    if (info?.body === undefined || info.tube !== this.name) return undefined;
    const { name, data } = JSON.parse(info.body.toString("utf8")) as Body;
    const job = new Job<Data, Result, Name>(this.#client, this.name, id, name as Name, data as Data, {}, info.attempts);
    job.failedReason = info.error;
    return job;
  }

  /** Removes a job. Returns 1, or 0 if there is none. */
  async remove(id: string): Promise<number> {
    const word = /^\d+$/.test(id) ? await this.#client.cancelId(Number(id)) : await this.#client.cancel(this.name, id);
    return word === "gone" ? 0 : 1;
  }

  /** Hands out nothing until `resume`. Throws if the queue never had a job. */
  async pause(): Promise<void> {
    if ((await this.#client.pause(this.name, FOR_EVER)) === "gone")
      throw new Error(`there is no queue '${this.name}' yet: nothing was paused`);
  }

  async resume(): Promise<void> {
    await this.#client.pause(this.name, 0);
  }

  async getJobCounts(): Promise<{ waiting: number; active: number; delayed: number; failed: number }> {
    const stats = await this.#client.stats(this.name);
    return {
      waiting: stats?.ready ?? 0,
      active: stats?.reserved ?? 0,
      delayed: stats?.delayed ?? 0,
      failed: stats?.buried ?? 0,
    };
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

/** Does the work of a job. What it returns goes to the event `completed`. */
export type Processor<Data = unknown, Result = unknown, Name extends string = string> = (
  job: Job<Data, Result, Name>,
  token: string,
  signal: AbortSignal,
) => Promise<Result> | Result;

export interface WorkerOptions {
  connection?: QueueOptions["connection"];
  /** The default is 1. */
  concurrency?: number;
  /** Begins by itself; the default is true. */
  autorun?: boolean;
}

/** Runs a processor for each job. Emits `active`, `completed`, `failed`, `error` and `closed`. */
export class Worker<Data = unknown, Result = unknown, Name extends string = string> extends EventEmitter {
  readonly #worker: ElapseWorker;
  readonly #client: Client;
  readonly #results = new Map<TakenJob, { job: Job<Data, Result, Name>; result?: Result; error?: unknown }>();
  #ended: Promise<void> | undefined;

  constructor(
    readonly name: string,
    processor: Processor<Data, Result, Name>,
    options: WorkerOptions = {},
  ) {
    super();
    const given = clientOptions(options.connection);
    this.#client = new Client(given);
    this.#worker = new ElapseWorker(name, (taken) => this.#process(taken, processor), {
      ...given,
      client: this.#client,
      concurrency: options.concurrency ?? 1,
      signals: [],
      hooks: {
        after: (taken, outcome) => {
          const ended = this.#results.get(taken);
          this.#results.delete(taken);
          if (ended === undefined) return;
          if (outcome === "done") this.emit("completed", ended.job, ended.result, "active");
          else if (outcome === "failed" || outcome === "buried") this.emit("failed", ended.job, ended.error, "active");
        },
        failure: (taken, error) => {
          if (this.listenerCount("failed") === 0) console.error(failureText(taken, error));
        },
        error: (error) => {
          // An event `error` without a listener would end the process.
          if (this.listenerCount("error") > 0) this.emit("error", error);
        },
      },
    });
    if (options.autorun ?? true) {
      this.run().catch((error: unknown) => {
        if (this.listenerCount("error") > 0) this.emit("error", error);
        else console.error(error instanceof ElapseError ? `elapse worker: ${error.message}` : error);
      });
    }
  }

  /** Works until `close`. */
  run(): Promise<void> {
    this.#ended ??= this.#worker.run();
    return this.#ended;
  }

  /** Takes no more jobs, and waits for those that run. */
  async close(): Promise<void> {
    await this.#worker.stop();
    await this.#client.close();
    this.emit("closed");
  }

  async #process(taken: TakenJob, processor: Processor<Data, Result, Name>): Promise<void> {
    const { name, data } = taken.data<Body>();
    const job = new Job<Data, Result, Name>(
      this.#client,
      this.name,
      taken.key ?? String(taken.id),
      name as Name,
      data as Data,
      {},
      taken.attempt - 1,
    );
    const ended: { job: Job<Data, Result, Name>; result?: Result; error?: unknown } = { job };
    this.#results.set(taken, ended);
    this.emit("active", job, "waiting");
    try {
      const result = await processor(job, taken.lease, taken.signal);
      job.returnvalue = result;
      ended.result = result;
    } catch (error) {
      job.attemptsMade++;
      job.failedReason = error instanceof Error ? error.message : String(error);
      ended.error = error;
      if (error instanceof UnrecoverableError) throw new Bury(error.message);
      throw error;
    }
  }
}
