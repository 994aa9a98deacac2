/** What goes into commands and comes out of replies: durations, times, bodies, maps. */

/** Milliseconds as a number, or a text with a unit that the server takes: `"30m"`, `"1h30m"`. */
export type Duration = number | string;

/** A wall-clock time: a `Date`, or milliseconds since 1970. */
export type Time = Date | number;

/** How values become bodies, and bodies values. */
export interface Codec {
  encode(value: unknown): Uint8Array | string;
  decode(body: Buffer): unknown;
}

/** Bytes and texts are bodies as they are; all else becomes JSON. `decode` reads JSON. */
export const jsonCodec: Codec = {
  encode(value) {
    if (typeof value === "string" || value instanceof Uint8Array) return value;
    // JSON makes {} of it, and what it stands for would be lost.
    if (value instanceof Promise) throw new TypeError("the body is a promise: await it");
    const text = JSON.stringify(value) as string | undefined;
    if (text === undefined) throw new TypeError("the body is a value that JSON does not have");
    return text;
  },
  decode: (body) => JSON.parse(body.toString("utf8")) as unknown,
};

/** An argument of a command. */
export type Argument = string | Buffer;

/** A reply: bulk strings are Buffers; an error in its place in an array is an `Error`. */
export type Reply = string | number | boolean | Buffer | null | Error | Reply[];

export function bufferOf(bytes: Uint8Array | string): Buffer {
  if (typeof bytes === "string") return Buffer.from(bytes, "utf8");
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** A name: of a tube, a key, a tag, a group, a token. `what` says in an error which one it is. */
export function nameOf(name: unknown, what: string): Argument {
  if (typeof name === "string") {
    // Half of a character has no bytes of its own: two names that differ in it would be one.
    if (/\p{Surrogate}/u.test(name)) throw new TypeError(`a ${what} has half of a character of UTF-16`);
    return name;
  }
  if (name instanceof Uint8Array) return bufferOf(name);
  throw new TypeError(`a ${what} is a text or bytes, and not ${String(name)}`);
}

/** Refuses an option that a call does not have: what is misspelt must not be ignored. */
export function onlyOptions(call: string, options: unknown, names: readonly string[]): void {
  if (typeof options !== "object" || options === null) {
    throw new TypeError(`the options of ${call} are an object, and not ${String(options)}`);
  }
  const other = Object.keys(options).find((name) => !names.includes(name));
  if (other !== undefined) throw new TypeError(`${call} has no option '${other}'`);
}

function refuseSpace(duration: string, name: string): void {
  if (/\s/.test(duration)) throw new RangeError(`${name}: a duration has no space, such as "3s": '${duration}'`);
}

/** Writes a duration as the server reads it. Milliseconds are rounded up. */
export function durationText(duration: Duration, name: string): string {
  if (typeof duration === "string") {
    refuseSpace(duration, name);
    return duration;
  }
  if (!Number.isFinite(duration) || duration < 0) {
    throw new RangeError(`${name}: a duration is a number of milliseconds, 0 or more, or a text such as "5s"`);
  }
  return `${Math.ceil(duration)}ms`;
}

const UNITS_MS: Readonly<Record<string, number>> = {
  w: 604_800_000,
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 1e-3,
  ns: 1e-6,
};

/** A duration in milliseconds, for the clocks of this process. */
export function durationMs(duration: Duration, name: string): number {
  if (typeof duration === "number") {
    durationText(duration, name);
    return duration;
  }
  refuseSpace(duration, name);
  const parts = /^(?:\d+(?:\.\d+)?(?:ms|us|ns|w|d|h|m|s))+$/.test(duration)
    ? (duration.match(/\d+(?:\.\d+)?[a-z]+/g) ?? [])
    : [];
  if (parts.length === 0) throw new RangeError(`${name}: this is no duration: '${duration}'`);
  return parts.reduce((sum, part) => sum + parseFloat(part) * (UNITS_MS[part.replace(/^[\d.]+/, "")] as number), 0);
}

/** Writes a wall-clock time as the server reads it. */
export function timeText(time: Time, name: string): string {
  const ms = time instanceof Date ? time.getTime() : time;
  if (!Number.isFinite(ms) || ms < 0) throw new RangeError(`${name}: this is no time`);
  return String(Math.ceil(ms));
}

/** Whether a value is an array. It tells no type, so that the type of an argument stays what it was. */
export function isArray(value: unknown): boolean {
  return Array.isArray(value);
}

export function textOf(reply: Reply | undefined): string {
  if (reply instanceof Error) throw reply;
  if (reply === null || reply === undefined || Array.isArray(reply)) {
    throw new TypeError("the server answered something else than a text");
  }
  return reply.toString();
}

export function textOrUndefined(reply: Reply | undefined): string | undefined {
  return reply === null || reply === undefined ? undefined : textOf(reply);
}

export function numberOf(reply: Reply | undefined): number {
  const number = Number(textOf(reply));
  if (Number.isNaN(number)) throw new TypeError(`the server answered something else than a number: ${textOf(reply)}`);
  return number;
}

export function arrayOf(reply: Reply | undefined): Reply[] {
  if (reply instanceof Error) throw reply;
  if (!Array.isArray(reply)) throw new TypeError("the server answered something else than an array");
  return reply;
}

/** A map, which RESP2 has as an array of names and values in turn. */
export function mapOf(reply: Reply | undefined): Map<string, Reply> {
  const parts = arrayOf(reply);
  const map = new Map<string, Reply>();
  for (let i = 0; i + 1 < parts.length; i += 2) map.set(textOf(parts[i]), parts[i + 1] as Reply);
  return map;
}

/** The headers of a job: an object of texts by convention; anything else reads as none. */
export function headersOf(reply: Reply | undefined): Record<string, string> {
  if (reply === null || reply === undefined) return {};
  try {
    const value: unknown = JSON.parse(textOf(reply));
    if (typeof value !== "object" || value === null) return {};
    return Object.fromEntries(Object.entries(value).filter(([, text]) => typeof text === "string"));
  } catch {
    return {};
  }
}
