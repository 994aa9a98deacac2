/** Puts: their options, and how they are written. */
import { randomBytes } from "node:crypto";
import { bufferOf, durationMs, durationText, isArray, nameOf, onlyOptions, timeText } from "./values.js";
import type { Argument, Codec, Duration, Time } from "./values.js";

/** What happens if the key of a put is taken. */
export type IfKey = "replace" | "keep" | "fail" | { debounce: Duration };

/** At most one of `in`, `at`, `every` and `cron`; without them the job is due at once. */
export interface PutOptions {
  /** Due after this time. */
  in?: Duration;
  /** Due at this wall-clock time. */
  at?: Time;
  /** Due at this interval, the first time after one interval. */
  every?: Duration;
  /** Due when this expression says, such as `"0 9 * * mon"`. */
  cron?: string;
  /** The zone of `cron`, such as `"Europe/Berlin"`; the default is UTC. */
  zone?: string;
  /** A name for the job, unique in its tube: 1 to 250 bytes. */
  key?: string;
  /** Waits until so many have arrived, or for `in` or `at`, whichever is first. Needs `key`. */
  await?: number;
  /** If the key is taken; the default is `"replace"`, and with `await` `"keep"`. `debounce` is `MAX`, and needs `in`. */
  ifKey?: IfKey;
  /** A name for many jobs. */
  tag?: string;
  /** For whom the job is: groups take turns. */
  group?: string;
  /** 0 to 4,294,967,295; smaller numbers come first; the default is 1024. */
  priority?: number;
  /** How long a lease lasts; the default is 60 s. */
  ttr?: Duration;
  /** Dropped if nobody took it so long after it was due. */
  expire?: Duration;
  /** How many hand-outs it gets; 0: no limit; the default is 20. */
  attempts?: number;
  /** The shortest and the longest wait before a retry; the default is 1 s and 10 min. */
  backoff?: readonly [min: Duration, max: Duration];
  /**
   * Makes the put safe to repeat: the same token stores nothing and answers `known`. Without one the
   * client makes one for each put. `false`: no token, and a put that was not answered is an UncertainError.
   */
  token?: string | false;
  /**
   * How long the token lives: 1 s to 10 min. The default is 10 min for a token that is given. The put is not sent again
   * when so much time has passed since a try that may have been done, and with less than a minute not after `UNKNOWN`:
   * that is an UncertainError.
   */
  tokenFor?: Duration;
  /** Up to 4,096 bytes of JSON beside the body. */
  headers?: Readonly<Record<string, string>>;
}

const EACH_OPTION: Readonly<Record<keyof PutOptions, true>> = {
  in: true,
  at: true,
  every: true,
  cron: true,
  zone: true,
  key: true,
  await: true,
  ifKey: true,
  tag: true,
  group: true,
  priority: true,
  ttr: true,
  expire: true,
  attempts: true,
  backoff: true,
  token: true,
  tokenFor: true,
  headers: true,
};
/** The names of the options of a put. */
export const PUT_OPTIONS: readonly string[] = Object.keys(EACH_OPTION);

/** What a put answers. */
export interface PutResult {
  /** The id of the job; of `kept`, `running` and `buried` that of the job that has the key. */
  readonly id: number;
  /** `known`: the token came before; if the client sent the put again, then its first one was done. */
  readonly outcome: "scheduled" | "replaced" | "kept" | "running" | "buried" | "known";
}

/** A put that was not sent yet, for {@link Transaction} and `job.done`. */
export interface Put {
  readonly tube: string;
  readonly body: unknown;
  readonly options: PutOptions;
}

/** A put for `job.done(put(...))`. */
export function put(tube: string, body: unknown, options: PutOptions = {}): Put {
  onlyOptions("put", options, PUT_OPTIONS);
  return { tube, body, options };
}

/** An arrival that was not sent yet, for {@link Transaction} and `job.done`. */
export interface Arrival {
  readonly tube: string;
  readonly key: string;
  readonly arrivals: number;
}

/** An arrival for `job.done(arrive(...))`. */
export function arrive(tube: string, key: string, n = 1): Arrival {
  return { tube, key, arrivals: n };
}

/** How many arrivals are missing now. `gone`: no job with the key waits for arrivals. */
export type ArriveResult = number | "gone";

/** What a job that waits for its pieces takes beside its timeout. */
export type GatherOptions = Omit<PutOptions, "in" | "at" | "every" | "cron" | "zone" | "ifKey" | "await"> & {
  /** The job runs after this time, also if pieces are missing. */
  timeout: Duration;
};

/** The headers of a piece say where it arrives when it is done. The packages of all languages know them. */
export const GATHER_TUBE = "elapse-gather-tube";
export const GATHER_KEY = "elapse-gather-key";

/**
 * The puts of `client.gather` that are not sent, for `job.done(...gather(...))` and a {@link Transaction}: the one of the
 * job that waits, and those of its pieces, of which there are up to 999. There is no `key`: a transaction is done also if
 * a key is taken, and the pieces would arrive at the other job that has it.
 */
export function gather(
  tube: string,
  body: unknown,
  pieces: readonly Put[],
  options: Omit<GatherOptions, "key">,
): Put[] {
  if ((options as GatherOptions).key !== undefined) {
    throw new TypeError("a gather that is not sent yet has no option 'key': client.gather has one");
  }
  return gatherPuts(tube, body, pieces, options);
}

/** The puts of a gather: the one of the job that waits, and those of its pieces. */
export function gatherPuts(
  tube: string,
  body: unknown,
  pieces: readonly Put[],
  options: GatherOptions,
): [Put, ...Put[]] {
  if (!isArray(pieces)) throw new TypeError("the pieces of a gather are an array of puts, made by put");
  if (pieces.length === 0) throw new TypeError("a gather needs a piece");
  for (const name of ["in", "at", "every", "cron", "zone", "ifKey", "await"]) {
    if (name in options) throw new TypeError(`a gather has no option '${name}'`);
  }
  const { timeout, ...others } = options;
  const key = options.key ?? newToken();
  // A key that is taken is an error: pieces of two gathers must not be counted together.
  const whole = put(tube, body, { ...others, key, await: pieces.length, in: timeout, ifKey: "fail" });
  const where = { [GATHER_TUBE]: tube, [GATHER_KEY]: key };
  return [
    whole,
    ...pieces.map((one) => put(one.tube, one.body, { ...one.options, headers: { ...one.options.headers, ...where } })),
  ];
}

const TOKEN_START = randomBytes(12).toString("base64url");
let tokens = 0;

/** A token that nothing else of any process has. */
export function newToken(): string {
  return `${TOKEN_START}-${(tokens++).toString(36)}`;
}

function when(options: PutOptions): Argument[] {
  const given = (["in", "at", "every", "cron"] as const).filter((name) => options[name] !== undefined);
  if (given.length > 1)
    throw new TypeError(`a put has at most one of in, at, every and cron, not ${given.join(" and ")}`);
  if (options.zone !== undefined && options.cron === undefined) throw new TypeError("zone needs cron");
  if (options.in !== undefined) return ["IN", durationText(options.in, "in")];
  if (options.at !== undefined) return ["AT", timeText(options.at, "at")];
  if (options.every !== undefined) return ["EVERY", durationText(options.every, "every")];
  if (options.cron === undefined) return [];
  return [
    "CRON",
    nameOf(options.cron, "cron"),
    ...(options.zone !== undefined ? ["ZONE", nameOf(options.zone, "zone")] : []),
  ];
}

function ifKey(choice: IfKey): Argument[] {
  if (typeof choice === "string") return ["IFKEY", choice.toUpperCase()];
  return ["IFKEY", "DEBOUNCE", "MAX", durationText(choice.debounce, "debounce")];
}

/**
 * How long a put is safe to send again after a try that may have been done, in milliseconds: while its token lives. The
 * tokens of the client, and those without `tokenFor`, outlive each deadline.
 */
export function repeatMsOf({ token, tokenFor }: PutOptions): number {
  if (token === false) return 0;
  return token === undefined || tokenFor === undefined ? Infinity : durationMs(tokenFor, "tokenFor");
}

/** Writes a put. `tokenMs`: how long a token lives that is made here; undefined: none is made. */
export function putArguments(one: Put, codec: Codec, tokenMs: number | undefined): Argument[] {
  const { options } = one;
  onlyOptions("put", options, PUT_OPTIONS);
  const args: Argument[] = ["PUT", nameOf(one.tube, "tube"), bufferOf(codec.encode(one.body)), ...when(options)];
  if (options.key !== undefined) args.push("KEY", nameOf(options.key, "key"));
  if (options.await !== undefined) args.push("AWAIT", String(options.await));
  if (options.ifKey !== undefined) args.push(...ifKey(options.ifKey));
  if (options.tag !== undefined) args.push("TAG", nameOf(options.tag, "tag"));
  if (options.group !== undefined) args.push("GROUP", nameOf(options.group, "group"));
  if (options.priority !== undefined) args.push("PRIORITY", String(options.priority));
  if (options.ttr !== undefined) args.push("TTR", durationText(options.ttr, "ttr"));
  if (options.expire !== undefined) args.push("EXPIRE", durationText(options.expire, "expire"));
  if (options.attempts !== undefined) args.push("ATTEMPTS", String(options.attempts));
  if (options.backoff !== undefined) {
    args.push("BACKOFF", durationText(options.backoff[0], "backoff"), durationText(options.backoff[1], "backoff"));
  }
  if (options.token !== undefined && options.token !== false) {
    args.push("TOKEN", nameOf(options.token, "token"));
    if (options.tokenFor !== undefined) args.push("FOR", durationText(options.tokenFor, "tokenFor"));
  } else if (options.token === undefined && tokenMs !== undefined) {
    args.push("TOKEN", newToken(), "FOR", `${tokenMs}ms`);
  }
  if (options.headers !== undefined && Object.keys(options.headers).length > 0) {
    args.push("HEADERS", JSON.stringify(options.headers));
  }
  return args;
}
