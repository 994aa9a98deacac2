/** The client: puts, changes and looks at jobs. */
import { Link, LostError, sleep, timerUntil } from "./connection.js";
import type { ConnectOptions, Connection } from "./connection.js";
import {
  BatchError,
  DrainingError,
  ElapseError,
  ReplyError,
  TransactionAbortedError,
  TryAgainError,
  UnavailableError,
  UncertainError,
  UnknownError,
} from "./errors.js";
import { PUT_OPTIONS, gatherPuts, newToken, putArguments, repeatMsOf } from "./put.js";
import type { ArriveResult, GatherOptions, Put, PutOptions, PutResult } from "./put.js";
import { camel, groupOf, infoOf, statsOf } from "./look.js";
import type { GroupInfo, JobInfo, JobState, Stats } from "./look.js";
import { Transaction, arriveResult, dueArguments, putResult } from "./transaction.js";
import type { Due } from "./transaction.js";
import { inPutSpan, withTrace } from "./tracing.js";
import {
  arrayOf,
  durationMs,
  durationText,
  isArray,
  jsonCodec,
  mapOf,
  nameOf,
  numberOf,
  onlyOptions,
  textOf,
} from "./values.js";
import type { Argument, Codec, Duration, Reply } from "./values.js";

export interface ClientOptions extends ConnectOptions {
  /** How long a call may take, with all that is sent again; the default is 30 s, the most 9 min. */
  deadline?: Duration;
  /** How long a server may owe a reply until its connection is taken for lost; the default is 12 s. */
  silence?: Duration;
  /** How values become bodies; the default is JSON, and bytes and texts as they are. */
  codec?: Codec;
}

const EACH_OPTION: Readonly<Record<keyof ClientOptions, true>> = {
  addresses: true,
  username: true,
  password: true,
  tls: true,
  name: true,
  deadline: true,
  silence: true,
  codec: true,
};
/** The names of the options of a client. */
export const CLIENT_OPTIONS: readonly string[] = Object.keys(EACH_OPTION);

/** The options of a client among others. */
export function clientOptionsOf(options: object): ClientOptions {
  return Object.fromEntries(
    Object.entries(options).filter(([name, value]) => CLIENT_OPTIONS.includes(name) && value !== undefined),
  );
}

/** `removed`: nobody gets the job. `running`: a worker has it. `gone`: there is no such job. */
export type CancelOutcome = "removed" | "running" | "gone";
/** What limits a tube. Others of the server that are a number go by their names. */
export interface Limits {
  /** How many jobs run at a time. */
  concurrency?: number | undefined;
  /** How many are handed out in a time: `[100, "1s"]`. `limits` tells the time in milliseconds. */
  rate?: Rate | undefined;
  /** How many are handed out at once after a rest; needs `rate`. */
  burst?: number | undefined;
  /** The same of each group. */
  groupConcurrency?: number | undefined;
  groupRate?: Rate | undefined;
  groupBurst?: number | undefined;
  /** A group hands out nothing while its oldest job waits for a retry, or runs. */
  groupOrder?: boolean | undefined;
  /** How many buried jobs are kept, and for how long. `limits` tells the time in milliseconds. */
  buried?: number | undefined;
  buriedAge?: Duration | undefined;
  [other: string]: Rate | Duration | boolean | undefined;
}
type Rate = readonly [count: number, per: Duration];
export type LeaseOutcome = "ok" | "cancelled" | "gone";

interface Lease {
  readonly id: number;
  readonly lease: string;
}

/** A command that may be sent again: what it answered, and whether an earlier try may have been done. */
interface Answer {
  reply: Reply;
  repeated: boolean;
}

const MOST_ITEMS = 500; // of one command; the server takes 2,048 arguments
const LONGEST_TOKEN_MS = 600_000;
const TOKEN_REST_MS = 60_000;
const LEAST_AFTER_UNKNOWN_MS = 60_000; // after UNKNOWN a put whose token lives for less is as one without a token

export class Client {
  /** How values become bodies, and bodies values. */
  readonly codec: Codec;
  /** How long the tokens live that this client makes: the deadline and a minute. */
  readonly tokenMs: number;
  readonly #link: Link;
  readonly #deadlineMs: number;
  readonly #connectOptions: ClientOptions;
  #sending: Promise<unknown> = Promise.resolve();

  /** Connects at the first command. */
  constructor(options: ClientOptions | string = {}) {
    const given = typeof options === "string" ? { addresses: options } : options;
    onlyOptions("a client", given, CLIENT_OPTIONS);
    this.codec = given.codec ?? jsonCodec;
    this.#connectOptions = given;
    this.#deadlineMs = durationMs(given.deadline ?? 30_000, "deadline");
    if (this.#deadlineMs < 1 || this.#deadlineMs > LONGEST_TOKEN_MS - TOKEN_REST_MS) {
      throw new RangeError("deadline: 1 ms to 9 minutes, so that a token outlives it");
    }
    this.tokenMs = Math.ceil(this.#deadlineMs) + TOKEN_REST_MS;
    const silenceMs = durationMs(given.silence ?? 12_000, "silence");
    if (silenceMs === 0) throw new RangeError("silence: more than 0");
    this.#link = new Link(given, silenceMs);
  }

  /** @internal The options that this client was made with. */
  get connectOptions(): ClientOptions {
    return this.#connectOptions;
  }

  /** Whether `close` was called. */
  get isClosed(): boolean {
    return this.#link.isClosed;
  }

  /**
   * Puts a job. After a lost connection, `TRYAGAIN`, `UNKNOWN` and `DRAINING` the same put is sent again, with the token of
   * the first try, until the deadline, or while a token of yours lives, and after `UNKNOWN` only if that is a minute or
   * more: it never doubles. Throws BusyKeyError with `ifKey: "fail"`, and UncertainError if the put was sent and no answer
   * came.
   */
  put(tube: string, body: unknown, options: PutOptions = {}): Promise<PutResult> {
    return this.#put({ tube, body, options }, this.codec);
  }

  #put({ tube, body, options }: Put, codec: Codec): Promise<PutResult> {
    return inPutSpan(tube, async () => {
      onlyOptions("put", options, PUT_OPTIONS);
      const headers = withTrace(options.headers);
      const args = putArguments(
        { tube, body, options: headers === undefined ? options : { ...options, headers } },
        codec,
        this.tokenMs,
      );
      return putResult(
        (await this.#retry(repeatMsOf(options), undefined, (connection) => connection.send(args))).reply,
      );
    });
  }

  /**
   * Tells the job with the key, which was put with `await`, that `n` have arrived; returns how many are missing now. However
   * often the connection is lost, it counts once; with a token of yours, also if you repeat it within 10 minutes.
   */
  async arrive(tube: string, key: string, n = 1, options: { token?: string } = {}): Promise<ArriveResult> {
    onlyOptions("arrive", options, ["token"]);
    const token =
      options.token === undefined ? [newToken(), "FOR", `${this.tokenMs}ms`] : [nameOf(options.token, "token")];
    return arriveResult(
      (await this.#run(["ARRIVE", nameOf(tube, "tube"), nameOf(key, "key"), String(n), "TOKEN", ...token], true)).reply,
    );
  }

  /**
   * Puts a job that waits until all pieces are done, or for the timeout, and then the pieces, made by `put`. Returns the
   * results of all, the waiting job's first. If the key is given and taken, it throws BusyKeyError, and no piece is put. If
   * a piece is not put, it throws BatchError, with the results of all: the job waits, and the pieces that were put count. A
   * piece that cannot be written, such as one with a BigInt, is an error before anything is put. If this program dies
   * meanwhile, some pieces may never be put: the timeout is for that, too.
   */
  async gather(tube: string, body: unknown, pieces: readonly Put[], options: GatherOptions): Promise<PutResult[]> {
    // All are written before the first is put, so that a piece that cannot be written leaves no job that waits for it.
    const [whole, ...others] = gatherPuts(tube, body, pieces, options).map((one) => ({
      ...one,
      body: putArguments(one, this.codec, this.tokenMs)[2],
    })) as [Put, ...Put[]];
    const first = await this.#put(whole, jsonCodec); // it leaves bytes as they are
    const results = await Promise.all(
      others.map((one) => this.#put(one, jsonCodec).catch((error: unknown) => errorOf(error))),
    );
    if (results.some((one) => one instanceof Error)) throw new BatchError([first, ...results]);
    return [first, ...(results as PutResult[])];
  }

  /**
   * Cancels the job with this key, or with each of these keys. Throws UncertainError if the job is gone and a try whose
   * answer was lost may have removed it. Of many keys the array has an error in its place; it is thrown only if no key was
   * answered.
   */
  cancel(tube: string, key: string): Promise<CancelOutcome>;
  cancel(tube: string, keys: readonly string[]): Promise<(CancelOutcome | ElapseError)[]>;
  cancel(tube: string, keys: string | readonly string[]): Promise<CancelOutcome | (CancelOutcome | ElapseError)[]> {
    return this.#oneOrMany<CancelOutcome>(
      () => ["CANCEL", nameOf(tube, "tube")],
      keys,
      (key) => [nameOf(key, "key")],
    );
  }

  /** Cancels jobs by their ids. */
  cancelId(id: number): Promise<CancelOutcome>;
  cancelId(ids: readonly number[]): Promise<(CancelOutcome | ElapseError)[]>;
  cancelId(ids: number | readonly number[]): Promise<CancelOutcome | (CancelOutcome | ElapseError)[]> {
    return this.#oneOrMany<CancelOutcome>(
      () => ["CANCELID"],
      ids,
      (id) => [String(id)],
    );
  }

  /** Cancels all jobs of a tube, or those in a state or with a tag. Returns how many. */
  async cancelAll(
    tube: string,
    which: { state?: JobState; tag?: string } = {},
  ): Promise<{ removed: number; running: number }> {
    onlyOptions("cancelAll", which, ["state", "tag"]);
    const map = mapOf((await this.#run(["CANCELALL", nameOf(tube, "tube"), ...whichArguments(which)], false)).reply);
    return { removed: numberOf(map.get("removed")), running: numberOf(map.get("running")) };
  }

  /** Gives the job with this key another due time. `running`: a worker has it, and nothing has changed. */
  async reschedule(tube: string, key: string, due: Due): Promise<"rescheduled" | "running" | "gone"> {
    return textOf(
      (await this.#run(["RESCHEDULE", nameOf(tube, "tube"), nameOf(key, "key"), ...dueArguments(due)], true)).reply,
    ) as "rescheduled";
  }

  /** Gives the job with this id another due time. */
  async rescheduleId(id: number, due: Due): Promise<"rescheduled" | "running" | "gone"> {
    return textOf((await this.#run(["RESCHEDULEID", String(id), ...dueArguments(due)], true)).reply) as "rescheduled";
  }

  /** Makes up to so many buried jobs ready, one unless given, or if none is buried, delayed ones. Returns how many. */
  async kick(tube: string, count = 1): Promise<number> {
    return numberOf((await this.#run(["KICK", nameOf(tube, "tube"), String(count)], false)).reply);
  }

  /** Makes one buried or delayed job ready. */
  async kickId(id: number): Promise<"ok" | "running" | "gone"> {
    return textOf((await this.#run(["KICKID", String(id)], false)).reply) as "ok";
  }

  /** Hands out nothing of a tube for so long; 0 ends a pause. */
  async pause(tube: string, duration: Duration): Promise<"ok" | "gone"> {
    return textOf(
      (await this.#run(["PAUSE", nameOf(tube, "tube"), durationText(duration, "duration")], true)).reply,
    ) as "ok";
  }

  /** Sets the limits of a tube in place of those before; `null` takes them away. */
  async limit(tube: string, limits: Limits | null): Promise<void> {
    const args = limits === null ? ["NONE"] : limitArguments(limits);
    if (args.length === 0) throw new TypeError("limit: there is none; null takes limits away");
    await this.#run(["LIMIT", nameOf(tube, "tube"), ...args], true);
  }

  /** The limits of a tube; undefined if there is no such tube. */
  async limits(tube: string): Promise<Limits | undefined> {
    const { reply } = await this.#run(["LIMIT", nameOf(tube, "tube")], true);
    if (reply === null) return undefined;
    const { rate, ratePer, rateBurst, groupRate, groupRatePer, groupRateBurst, groupOrder, ...others } =
      Object.fromEntries(
        [...mapOf(reply)].filter(([, value]) => value !== null).map(([name, value]) => [camel(name), numberOf(value)]),
      );
    return {
      ...others,
      ...(rate !== undefined && ratePer !== undefined ? { rate: [rate, ratePer], burst: rateBurst } : {}),
      ...(groupRate !== undefined && groupRatePer !== undefined
        ? { groupRate: [groupRate, groupRatePer], groupBurst: groupRateBurst }
        : {}),
      ...(groupOrder !== undefined ? { groupOrder: groupOrder !== 0 } : {}),
    };
  }

  /** Shows the job with this key; undefined if there is none. */
  async lookup(tube: string, key: string): Promise<JobInfo | undefined> {
    const { reply } = await this.#run(["LOOKUP", nameOf(tube, "tube"), nameOf(key, "key")], true);
    return reply === null ? undefined : infoOf(reply);
  }

  /** Shows the job with this id; undefined if there is none. */
  async lookupId(id: number): Promise<JobInfo | undefined> {
    const { reply } = await this.#run(["LOOKUPID", String(id)], true);
    return reply === null ? undefined : infoOf(reply);
  }

  /** Goes through the jobs of a tube, in no order. With `keys` each has its key, tag, group and error. */
  async *list(
    tube: string,
    which: { state?: JobState; tag?: string; keys?: boolean } = {},
  ): AsyncGenerator<JobInfo, void, undefined> {
    onlyOptions("list", which, ["state", "tag", "keys"]);
    const args = ["LIST", nameOf(tube, "tube"), ...whichArguments(which), ...(which.keys === true ? ["KEYS"] : [])];
    for await (const job of this.#pages(args)) yield infoOf(job);
  }

  /** Goes through the names of all tubes. */
  async *tubes(): AsyncGenerator<string, void, undefined> {
    const seen = new Set<string>(); // a cluster lists a tube once for each partition that has it
    for await (const tube of this.#pages(["TUBES"])) {
      const name = textOf(tube);
      if (!seen.has(name)) yield name;
      seen.add(name);
    }
  }

  /** Goes through the groups of a tube that have jobs; with `held` those alone of which a limit of each group holds jobs back. */
  async *groups(tube: string, which: { held?: boolean } = {}): AsyncGenerator<GroupInfo, void, undefined> {
    onlyOptions("groups", which, ["held"]);
    for await (const group of this.#pages(["GROUPS", nameOf(tube, "tube"), ...(which.held === true ? ["HELD"] : [])]))
      yield groupOf(group);
  }

  async *#pages(args: Argument[]): AsyncGenerator<Reply, void, undefined> {
    for (let cursor = "0"; ;) {
      const { reply } = await this.#run(cursor === "0" ? args : [...args, "CURSOR", cursor], true);
      const [next, items] = arrayOf(reply);
      for (const item of arrayOf(items)) {
        if (item instanceof Error) throw item;
        yield item;
      }
      cursor = textOf(next);
      if (cursor === "0") return;
    }
  }

  /** Counts the jobs of the server. */
  stats(): Promise<Stats>;
  /** Counts the jobs of a tube; undefined if there is no such tube. */
  stats(tube: string): Promise<Stats | undefined>;
  async stats(tube?: string): Promise<Stats | undefined> {
    const { reply } = await this.#run(tube === undefined ? ["STATS"] : ["STATS", nameOf(tube, "tube")], true);
    return reply === null ? undefined : statsOf(reply);
  }

  /** Begins a transaction: commands that are done together, or not at all. */
  transaction(): Transaction {
    return new Transaction(this);
  }

  /** Ends jobs: their work is done. */
  ack(jobs: readonly Lease[], deadline?: number): Promise<(LeaseOutcome | ElapseError)[]> {
    return this.#items<LeaseOutcome>(["ACK"], pairs(jobs), [], deadline);
  }

  /** Begins leases anew. */
  extend(jobs: readonly Lease[], deadline?: number): Promise<(LeaseOutcome | ElapseError)[]> {
    return this.#items<LeaseOutcome>(["EXTEND"], pairs(jobs), [], deadline);
  }

  /** @internal Begins leases anew; a part that a partition does not answer has its error at once, and is not sent again. */
  extendOnce(jobs: readonly Lease[], deadline: number): Promise<(LeaseOutcome | ElapseError)[]> {
    return this.#items<LeaseOutcome>(["EXTEND"], pairs(jobs), [], deadline, { isSentAgain: false });
  }

  /** Says that the work failed. `in`: due then, and this is no failure. `after`: the least wait. */
  async nack(
    jobs: readonly Lease[],
    options: { in?: Duration; after?: Duration; error?: string } = {},
    deadline?: number,
  ): Promise<(LeaseOutcome | ElapseError)[]> {
    onlyOptions("nack", options, ["in", "after", "error"]);
    const tail: Argument[] = [];
    if (options.in !== undefined) tail.push("IN", durationText(options.in, "in"));
    if (options.after !== undefined) tail.push("AFTER", durationText(options.after, "after"));
    if (options.error !== undefined) tail.push("ERROR", shortened(options.error));
    return this.#items<LeaseOutcome>(["NACK"], pairs(jobs), tail, deadline);
  }

  /** Sets jobs aside until somebody kicks them. */
  bury(jobs: readonly Lease[], error?: string, deadline?: number): Promise<(LeaseOutcome | ElapseError)[]> {
    return this.#items<LeaseOutcome>(
      ["BURY"],
      pairs(jobs),
      error === undefined ? [] : ["ERROR", shortened(error)],
      deadline,
    );
  }

  /**
   * Sends any command of the protocol, and returns its reply; bulk strings are Buffers. It is sent once:
   * UncertainError if no answer came.
   */
  async command(...args: (string | Uint8Array | number)[]): Promise<Reply> {
    const words = args.map((word) => (word instanceof Uint8Array ? Buffer.from(word) : String(word)));
    return (await this.#run(words, false)).reply;
  }

  /** Closes the connection when what was sent is answered. */
  async close(): Promise<void> {
    this.#link.close();
    await this.#sending.catch(() => undefined);
  }

  /** @internal Sends MULTI, the commands and EXEC. */
  async runTransaction(
    commands: Argument[][],
    options: { repeatMs: number; guarded: boolean },
  ): Promise<Reply[] | null> {
    const { reply, repeated } = await this.#retry(options.repeatMs, undefined, async (connection) => {
      const sent = [["MULTI"], ...commands, ["EXEC"]].map((args) => connection.send(args));
      const replies = await Promise.allSettled(sent);
      const last = replies[replies.length - 1] as PromiseSettledResult<Reply>;
      if (last.status === "fulfilled") return last.value;
      const refused = replies.find((one) => one.status === "rejected" && one.reason instanceof ReplyError);
      // The error of the command says more than that of EXEC.
      throw last.reason instanceof TransactionAbortedError && refused?.status === "rejected"
        ? refused.reason
        : last.reason;
    });
    if (reply === null) {
      if (options.guarded && repeated) {
        throw new UncertainError(
          "the transaction was done by its first try, or the lease had ended: stop in both cases",
        );
      }
      return null;
    }
    return arrayOf(reply);
  }

  async #run(args: Argument[], repeatable: boolean, deadline?: number): Promise<Answer> {
    return this.#retry(repeatable ? Infinity : 0, deadline, (connection) => connection.send(args));
  }

  /**
   * Sends until an answer comes, or the deadline by `performance.now()` has passed. `repeatMs`: how long after the first
   * try that may have been done it is sent again; after `UNKNOWN` only if that is a minute or more.
   */
  #retry(
    repeatMs: number,
    deadline: number | undefined,
    send: (connection: Connection) => Promise<Reply>,
  ): Promise<Answer> {
    const until = deadline ?? performance.now() + this.#deadlineMs;
    const answer = this.#tries(repeatMs, until, send);
    this.#sending = answer;
    return answer;
  }

  async #tries(repeatMs: number, until: number, send: (connection: Connection) => Promise<Reply>): Promise<Answer> {
    let repeated = false;
    let cause: unknown;
    let sendUntil = until; // answers may come later
    for (let pauseMs = 20; ; pauseMs = Math.min(2 * pauseMs, 1000)) {
      let connection: Connection | undefined;
      let sentAt = 0;
      try {
        connection = this.#link.current ?? (await this.#link.connected(sendUntil));
        sentAt = performance.now();
        if (repeated && sentAt >= sendUntil) throw new UnavailableError("it is too late to send it again");
        return { reply: await before(until, send(connection)), repeated };
      } catch (error) {
        if (error instanceof UnavailableError) {
          if (repeated) throw uncertain(cause ?? error);
          throw error;
        }
        if (error instanceof LateError) throw uncertain(error);
        // The node has tried for a while, and the token may have died meanwhile.
        if (error instanceof UnknownError && repeatMs < LEAST_AFTER_UNKNOWN_MS) throw uncertain(error);
        if (error instanceof UnknownError || (error instanceof LostError && error.wasSent)) {
          if (!repeated) sendUntil = Math.min(until, sentAt + repeatMs);
          repeated = true;
        } else if (error instanceof DrainingError && connection !== undefined) {
          this.#link.leave(connection);
        } else if (!(error instanceof TryAgainError || error instanceof LostError)) {
          // A server of 0.3.0 may refuse it before it looks at the token: that says nothing of the try before.
          throw repeated && error instanceof ReplyError ? uncertain(error) : error;
        }
        cause = error;
      }
      if (performance.now() + pauseMs >= sendUntil) {
        if (repeated) throw uncertain(cause);
        if (cause instanceof ReplyError) throw cause;
        throw new UnavailableError(`no server answered until the deadline: ${String(cause)}`, { cause });
      }
      // A lost connection is opened again by the link, which waits by itself.
      if (!(cause instanceof LostError)) await sleep(pauseMs);
    }
  }

  async #oneOrMany<Word extends string>(
    head: () => Argument[],
    given: string | number | readonly (string | number)[],
    write: (item: string | number) => Argument[],
  ): Promise<Word | (Word | ElapseError)[]> {
    const many = Array.isArray(given);
    const items = (many ? given : [given]) as readonly (string | number)[];
    const words = await this.#items<Word>(head(), items.map(write), []);
    if (many) return words;
    const only = words[0] as Word | ElapseError;
    if (only instanceof ElapseError) throw only;
    return only;
  }

  /**
   * Sends a command with many parts, and, unless told otherwise, those parts again that a partition did not answer. An
   * error that comes when some parts have their words takes the places of the others; before that it is thrown. Nothing is
   * sent behind the deadline.
   */
  async #items<Word extends string>(
    head: Argument[],
    items: Argument[][],
    tail: Argument[],
    deadline?: number,
    { isSentAgain } = { isSentAgain: true },
  ): Promise<(Word | ElapseError)[]> {
    const until = deadline ?? performance.now() + this.#deadlineMs;
    const words: (Word | ElapseError)[] = [];
    const unsure = new Set<number>();
    let left = items.map((_, i) => i);
    for (let pauseMs = 20; left.length > 0; pauseMs = Math.min(2 * pauseMs, 1000)) {
      const again: number[] = [];
      for (let from = 0; from < left.length; from += MOST_ITEMS) {
        const part = left.slice(from, from + MOST_ITEMS);
        const args = [...head, ...part.flatMap((i) => items[i] as Argument[]), ...tail];
        let answer: Answer;
        if (words.length > 0 && performance.now() >= until) {
          const late = new UnavailableError("the deadline has passed before it was sent");
          for (const place of left.slice(from)) {
            const why = words[place] ?? late;
            words[place] = unsure.has(place) ? uncertain(why) : why;
          }
          break;
        }
        try {
          answer = await this.#retry(Infinity, until, (connection) => {
            const reply = connection.send(args);
            return isSentAgain ? reply : reply.catch(errorOfPartition);
          });
        } catch (error) {
          if (words.length === 0 || !(error instanceof ElapseError)) throw error;
          for (const place of part) words[place] = unsure.has(place) ? uncertain(error) : error;
          continue;
        }
        const { reply, repeated } = answer;
        const replies = Array.isArray(reply) ? reply : reply instanceof Error ? part.map(() => reply) : [reply];
        part.forEach((place, i) => {
          if (repeated) unsure.add(place);
          const one = replies[i];
          if (one instanceof UnknownError || one instanceof TryAgainError) {
            if (one instanceof UnknownError) unsure.add(place);
            again.push(place);
            words[place] = one;
            return;
          }
          const word = one instanceof ElapseError ? one : (textOf(one) as Word);
          if (!unsure.has(place)) words[place] = word;
          else if (word instanceof ElapseError) words[place] = uncertain(word);
          else if (word !== "gone") words[place] = word;
          else words[place] = new UncertainError("it is gone, and perhaps by a try of this call whose answer was lost");
        });
      }
      left = again;
      if (left.length === 0 || !isSentAgain) break;
      if (performance.now() + pauseMs >= until) {
        for (const place of left) if (unsure.has(place)) words[place] = uncertain(words[place]);
        break;
      }
      await sleep(pauseMs);
    }
    return words;
  }
}

/** The error of a partition that did not answer, as a reply; any other error is thrown. */
function errorOfPartition(error: unknown): ElapseError {
  if (error instanceof TryAgainError || error instanceof UnknownError) return error;
  throw error;
}

class LateError extends Error {}

function before<T>(until: number, reply: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      // A timer of Node may come early by a millisecond or more.
      if (performance.now() < until) timer = setTimeout(end, timerUntil(until));
      else reject(new LateError("no answer came until the deadline"));
    };
    let timer = setTimeout(end, timerUntil(until));
    reply.then(resolve, reject).finally(() => {
      clearTimeout(timer);
    });
  });
}

function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

function uncertain(cause: unknown): UncertainError {
  if (cause instanceof UncertainError) return cause;
  const why = cause instanceof Error ? cause.message : String(cause);
  return new UncertainError(`it was sent, and may have been done or not: ${why}`, { cause });
}

function pairs(jobs: readonly Lease[]): Argument[][] {
  if (!isArray(jobs)) throw new TypeError("the jobs are an array: write [job]");
  return jobs.map((job) => [String(job.id), job.lease]);
}

const LONGEST_ERROR = 1024; // bytes; the server cuts at the end of a character

function shortened(error: string): string {
  return error.length > LONGEST_ERROR ? error.slice(0, LONGEST_ERROR) : error;
}

function rateArguments(word: string, name: string, rate: Rate | undefined, burst: number | undefined): Argument[] {
  if (rate !== undefined) {
    return [
      word,
      String(rate[0]),
      "PER",
      durationText(rate[1], name),
      ...(burst === undefined ? [] : ["BURST", String(burst)]),
    ];
  }
  if (burst !== undefined) throw new TypeError(`limit: the burst needs ${name}`);
  return [];
}

function limitArguments({ rate, burst, groupRate, groupBurst, groupOrder, buriedAge, ...counts }: Limits): Argument[] {
  return [
    ...Object.entries(counts).flatMap(([name, count]) =>
      count === undefined ? [] : [name.toUpperCase(), String(count)],
    ),
    ...rateArguments("RATE", "rate", rate, burst),
    ...rateArguments("GROUPRATE", "groupRate", groupRate, groupBurst),
    ...(groupOrder === true ? ["GROUPORDER"] : []),
    ...(buriedAge === undefined ? [] : ["BURIED", "AGE", durationText(buriedAge, "buriedAge")]),
  ];
}

function whichArguments(which: { state?: JobState; tag?: string }): Argument[] {
  return [
    ...(which.state !== undefined ? ["STATE", which.state] : []),
    ...(which.tag !== undefined ? ["TAG", nameOf(which.tag, "tag")] : []),
  ];
}
