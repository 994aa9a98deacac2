/** Transactions: commands that are done together, or not at all. */
import { ElapseError, InvalidError, LeaseLostError } from "./errors.js";
import { PUT_OPTIONS, newToken, putArguments, repeatMsOf } from "./put.js";
import type { ArriveResult, Put, PutOptions, PutResult } from "./put.js";
import { durationText, nameOf, numberOf, onlyOptions, textOf, timeText } from "./values.js";
import type { Argument, Codec, Duration, Reply, Time } from "./values.js";
import { withTrace } from "./tracing.js";

/** What a command of a transaction answers: a put its result, an arrival how many are missing, all else its word. */
export type TransactionResult = PutResult | number | string | ElapseError;

/** A new due time: one of both. */
export type Due = { in: Duration } | { at: Time };

export function dueArguments(due: Due): Argument[] {
  onlyOptions("reschedule", due, ["in", "at"]);
  if ("in" in due === "at" in due) throw new TypeError("reschedule needs one of in and at");
  return "in" in due ? ["IN", durationText(due.in, "in")] : ["AT", timeText(due.at, "at")];
}

export function putResult(reply: Reply | undefined): PutResult {
  if (reply instanceof Error) throw reply;
  if (!Array.isArray(reply))
    throw new InvalidError("ERR", "a put was answered by something else than an id and a word");
  return { id: numberOf(reply[0]), outcome: textOf(reply[1]) as PutResult["outcome"] };
}

export function arriveResult(reply: Reply | undefined): ArriveResult {
  return textOf(reply) === "gone" ? "gone" : numberOf(reply);
}

/** What a transaction needs of its client. */
export interface TransactionHost {
  readonly codec: Codec;
  readonly tokenMs: number;
  runTransaction(commands: Argument[][], options: { repeatMs: number; guarded: boolean }): Promise<Reply[] | null>;
}

interface Lease {
  readonly id: number;
  readonly lease: string;
}

/** Collects commands; {@link exec} does all of them, or none. Made by `client.transaction()`. */
export class Transaction {
  #host: TransactionHost;
  #commands: { args: Argument[]; read: (reply: Reply) => TransactionResult }[] = [];
  #guards: Lease[] = [];
  #acknowledged: Lease[] = [];
  #puts: Put[] = [];
  #hasOthers = false;
  #isUsed = false;

  constructor(host: TransactionHost) {
    this.#host = host;
  }

  /** Puts a job. */
  put(tube: string, body: unknown, options: PutOptions = {}): this {
    onlyOptions("put", options, PUT_OPTIONS);
    this.#puts.push({ tube, body, options });
    const place = this.#puts.length - 1;
    this.#commands.push({ args: [String(place)], read: putResult });
    return this;
  }

  /** Cancels the jobs with these keys. Each has a result of its own. */
  cancel(tube: string, ...keys: string[]): this {
    for (const key of keys) this.#add(["CANCEL", nameOf(tube, "tube"), nameOf(key, "key")]);
    return this;
  }

  /** Gives a job another due time. */
  reschedule(tube: string, key: string, due: Due): this {
    return this.#add(["RESCHEDULE", nameOf(tube, "tube"), nameOf(key, "key"), ...dueArguments(due)]);
  }

  /** Tells the job with the key, which waits by `await`, that so many have arrived. */
  arrive(tube: string, key: string, n = 1): this {
    this.#commands.push({ args: ["ARRIVE", nameOf(tube, "tube"), nameOf(key, "key"), String(n)], read: arriveResult });
    return this;
  }

  /** Ends a job that was handed out. Without {@link leased} the rest is done also if the lease had ended. */
  ack(job: Lease): this {
    this.#acknowledged.push(job);
    return this.#add(["ACK", String(job.id), job.lease]);
  }

  /** Guards the transaction: nothing is done if the lease of this job has ended. */
  leased(job: Lease): this {
    this.#guards.push(job);
    return this;
  }

  #add(args: Argument[]): this {
    this.#hasOthers = true;
    this.#commands.push({ args, read: (reply) => word(reply) });
    return this;
  }

  /**
   * Does all commands, or none. Returns a result for each; an error of one, such as a BusyKeyError, stops
   * no other. Throws LeaseLostError if a lease of {@link leased} has ended, and UncertainError if the
   * answer was lost and it cannot be sent again. It is sent again if it ends one of the leases that guard it, or has
   * puts with tokens and arrivals alone: one of cancels alone is sent once.
   */
  async exec(): Promise<TransactionResult[]> {
    if (this.#isUsed) throw new TypeError("a transaction is executed once");
    this.#isUsed = true;
    const guarded = this.#guards.length > 0;
    // A transaction that ends one of the leases that guard it is done once whatever is sent again, and needs no tokens.
    const isDoneOnce = this.#guards.some((one) =>
      this.#acknowledged.some(({ id, lease }) => one.id === id && one.lease === lease),
    );
    const tokenMs = isDoneOnce ? undefined : this.#host.tokenMs;
    const commands = this.#commands.map(({ args, read }) => {
      if (read === arriveResult && tokenMs !== undefined) return [...args, "TOKEN", newToken(), "FOR", `${tokenMs}ms`];
      if (read !== putResult) return args;
      const one = this.#puts[Number(args[0])] as Put;
      const headers = withTrace(one.options.headers);
      return putArguments(
        { ...one, options: headers === undefined ? one.options : { ...one.options, headers } },
        this.#host.codec,
        tokenMs,
      );
    });
    if (guarded) commands.unshift(["LEASED", ...this.#guards.flatMap(({ id, lease }) => [String(id), lease])]);
    const repeatMs = isDoneOnce
      ? Infinity
      : Math.min(this.#hasOthers ? 0 : Infinity, ...this.#puts.map(({ options }) => repeatMsOf(options)));
    const replies = await this.#host.runTransaction(commands, { repeatMs, guarded });
    if (replies === null) throw new LeaseLostError("the lease of a job of the transaction has ended: nothing was done");
    return replies.slice(guarded ? 1 : 0).map((reply, i) => {
      if (reply instanceof ElapseError) return reply;
      return (this.#commands[i] as { read: (reply: Reply) => TransactionResult }).read(reply);
    });
  }
}

/** A command with many parts answers an array, also if it has one part. */
function word(reply: Reply): TransactionResult {
  const only = Array.isArray(reply) ? reply[0] : reply;
  return only instanceof ElapseError ? only : textOf(only);
}
