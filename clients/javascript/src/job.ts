/** A job in the hands of a worker. */
import type { Client } from "./client.js";
import { LeaseLostError } from "./errors.js";
import type { ElapseError } from "./errors.js";
import { GATHER_KEY, GATHER_TUBE } from "./put.js";
import type { Arrival, ArriveResult, Put, PutResult } from "./put.js";
import type { TransactionResult } from "./transaction.js";
import { arrayOf, headersOf, mapOf, numberOf, textOf, textOrUndefined } from "./values.js";
import type { Reply } from "./values.js";

const DEFAULT_TTR_MS = 60_000;

/** A job that was handed out. */
export class Job {
  readonly id: number;
  /** The name of this hand-out. */
  readonly lease: string;
  readonly tube: string;
  readonly key: string | undefined;
  readonly body: Buffer;
  /** When it was due. */
  readonly due: Date;
  /** 1, and 1 more for each hand-out that failed. */
  readonly attempt: number;
  /** Occurrences of a recurring job that passed since the one before. */
  readonly missed: number;
  readonly ttrMs: number;
  readonly tag: string | undefined;
  readonly group: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** How many more hand-outs may fail after this one; undefined: there is no limit. */
  readonly attemptsLeft: number | undefined;
  readonly recurring: boolean;
  /** Of a job that was put with `await`: how many had not arrived when its time was over. */
  readonly missing: number;
  /** Of a piece of a gather: the tube and the key of the job that waits for it. */
  readonly gatherer: { readonly tube: string; readonly key: string } | undefined;
  /** What went wrong last, and when. */
  readonly lastError: string | undefined;
  readonly lastErrorAt: Date | undefined;
  /**
   * Aborted when the handler shall stop. Its reason is a CancelledError, a LeaseLostError, a
   * TimeLimitError or a StoppedError.
   */
  readonly signal: AbortSignal;

  readonly #client: Client;
  #ending: Promise<TransactionResult[]> | undefined;
  #isDone = false;

  /** @internal Reads a job from its place in the reply of RESERVE. */
  constructor(client: Client, reply: Reply, signal: AbortSignal) {
    const places = arrayOf(reply);
    const more = places[8] === undefined ? new Map<string, Reply>() : mapOf(places[8]);
    this.#client = client;
    this.signal = signal;
    this.id = numberOf(places[0]);
    this.lease = textOf(places[1]);
    this.tube = textOf(places[2]);
    this.key = textOrUndefined(places[3]);
    this.body = Buffer.isBuffer(places[4]) ? places[4] : Buffer.from(textOf(places[4]));
    this.due = new Date(numberOf(places[5]));
    this.attempt = numberOf(places[6]);
    this.missed = numberOf(places[7]);
    this.ttrMs = more.has("ttr") ? numberOf(more.get("ttr")) : DEFAULT_TTR_MS;
    this.tag = textOrUndefined(more.get("tag"));
    this.group = textOrUndefined(more.get("group"));
    this.headers = headersOf(more.get("headers"));
    this.attemptsLeft = more.has("attempts_left") ? numberOf(more.get("attempts_left")) : undefined;
    this.recurring = more.has("recurring") && numberOf(more.get("recurring")) === 1;
    this.missing = more.has("await") ? numberOf(more.get("await")) : 0;
    const [tube, key] = [this.headers[GATHER_TUBE], this.headers[GATHER_KEY]];
    this.gatherer = tube !== undefined && key !== undefined ? { tube, key } : undefined;
    this.lastError = textOrUndefined(more.get("error"));
    this.lastErrorAt = more.has("error_at") ? new Date(numberOf(more.get("error_at"))) : undefined;
  }

  /** The body as a text. */
  text(): string {
    return this.body.toString("utf8");
  }

  /** The body as a value, by the codec of the client: JSON unless another one is given. */
  data<T = unknown>(): T {
    return this.#client.codec.decode(this.body) as T;
  }

  /** @internal What `done` waits for, or has got; undefined if it was not called, or has failed. */
  get ending(): Promise<TransactionResult[]> | undefined {
    return this.#ending;
  }

  /** @internal Whether `done` has ended the job: its lease is not extended any more. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /**
   * Ends this job and puts the next ones, together or not at all: each step of a chain follows exactly
   * once from the one before, whatever crashes. A piece of a gather arrives, too. Call it last. Returns a result for each
   * step; an error of one, such as a BusyKeyError, stands in its place, and stops no other: the job is done. Throws
   * LeaseLostError if the lease has ended: nothing was put, and another worker may have the job; and UncertainError if
   * nobody knows. After any error but LeaseLostError the worker keeps the lease, and it may be called again; a handler
   * that catches the error and returns ends the job without the steps.
   */
  done(...puts: Put[]): Promise<(PutResult | ElapseError)[]>;
  done(...steps: (Put | Arrival)[]): Promise<(PutResult | ArriveResult | ElapseError)[]>;
  async done(...steps: (Put | Arrival)[]): Promise<(PutResult | ArriveResult | ElapseError)[]> {
    if (this.#ending !== undefined) throw new TypeError("done was called before");
    if (this.signal.aborted) throw new LeaseLostError(`job ${this.id} is not this worker's any more`);
    const transaction = this.#client.transaction().leased(this).ack(this);
    for (const one of steps) {
      if ("arrivals" in one) transaction.arrive(one.tube, one.key, one.arrivals);
      else transaction.put(one.tube, one.body, one.options);
    }
    if (this.gatherer !== undefined) transaction.arrive(this.gatherer.tube, this.gatherer.key);
    this.#ending = transaction.exec();
    let results: TransactionResult[];
    try {
      results = await this.#ending;
    } catch (error) {
      this.#ending = undefined; // the handler goes on, under the lease that it has
      throw error;
    }
    this.#isDone = true;
    return results.slice(1, 1 + steps.length) as (PutResult | ArriveResult | ElapseError)[];
  }
}
