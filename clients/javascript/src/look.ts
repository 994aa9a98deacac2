/** What LOOKUP, LIST, STATS and GROUPS tell, with named fields. */
import { headersOf, mapOf, numberOf, textOf, textOrUndefined } from "./values.js";
import type { Reply } from "./values.js";

export type JobState = "delayed" | "ready" | "reserved" | "buried";

/** A job as the server shows it. Times that end with Ms are in milliseconds. */
export interface JobInfo {
  readonly id: number;
  readonly tube: string;
  /** `cancelled`: it was cancelled, and a worker still has it. */
  readonly state: JobState | "cancelled";
  /** Absent: it has no due time. */
  readonly due?: Date;
  /** Until it is due, or until its lease ends. */
  readonly leftMs: number;
  /** How many arrivals are missing: the job waits for them, or was released without them. */
  readonly missing: number;
  readonly priority: number;
  readonly ttrMs: number;
  readonly expireMs: number;
  /** How many hand-outs it gets; 0: no limit. */
  readonly attemptsMax: number;
  readonly backoffMinMs: number;
  readonly backoffMaxMs: number;
  /** Hand-outs that have failed. */
  readonly attempts: number;
  readonly recurring: boolean;
  readonly missed: number;
  readonly failures: number;
  readonly lease?: string;
  /** Who reserved it. */
  readonly holder?: string;
  /** Why it is buried. */
  readonly reason?: string;
  readonly key?: string;
  readonly tag?: string;
  readonly group?: string;
  /** What went wrong last, and when. */
  readonly error?: string;
  readonly errorAt?: Date;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

export interface GroupInfo {
  readonly group: string;
  readonly delayed: number;
  readonly ready: number;
  readonly running: number;
  readonly buried: number;
  /** How many of the ready jobs a limit of each group holds back. */
  readonly held: number;
  /** Which limit: `group_concurrency`, `group_rate`, `group_order`. Absent: none holds jobs back. */
  readonly heldBy?: string;
  /** Until the rate of the group lets a job run; 0: it is not the rate that holds them. */
  readonly heldLeftMs: number;
  /** For how long the first ready job has been due. */
  readonly overdueMs: number;
}

/** Counts by their names in STATS, such as `ready`, `totalPut`; yes is 1 and no is 0. */
export interface Counts {
  readonly delayed: number;
  readonly ready: number;
  readonly reserved: number;
  readonly buried: number;
  readonly cancelledRunning: number;
  readonly totalPut: number;
  readonly totalDone: number;
  readonly totalTimeouts: number;
  readonly totalCancelled: number;
  readonly totalDead: number;
  readonly [name: string]: number;
}

/** What STATS tells. */
export type Stats = Counts & {
  /** The limit that holds jobs back. Absent: none does. */
  readonly heldBy?: string;
};

export function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function numberOrZero(reply: Reply | undefined): number {
  return reply === null || reply === undefined ? 0 : numberOf(reply);
}

export function infoOf(reply: Reply): JobInfo {
  const map = mapOf(reply);
  const texts: Record<string, string> = {};
  for (const name of ["lease", "holder", "reason", "key", "tag", "group", "error"]) {
    const text = textOrUndefined(map.get(name));
    if (text !== undefined) texts[name] = text;
  }
  const due = map.get("due");
  const errorAt = map.get("error_at");
  const body = map.get("body");
  const headers = map.get("headers");
  return {
    id: numberOf(map.get("id")),
    tube: textOf(map.get("tube")),
    state: textOf(map.get("state")) as JobState,
    ...(due !== null && due !== undefined ? { due: new Date(numberOf(due)) } : {}),
    leftMs: numberOrZero(map.get("left")),
    missing: numberOrZero(map.get("await")),
    priority: numberOrZero(map.get("priority")),
    ttrMs: numberOrZero(map.get("ttr")),
    expireMs: numberOrZero(map.get("expire")),
    attemptsMax: numberOrZero(map.get("attempts_max")),
    backoffMinMs: numberOrZero(map.get("backoff_min")),
    backoffMaxMs: numberOrZero(map.get("backoff_max")),
    attempts: numberOrZero(map.get("attempts")),
    recurring: numberOrZero(map.get("recurring")) === 1,
    missed: numberOrZero(map.get("missed")),
    failures: numberOrZero(map.get("failures")),
    ...texts,
    ...(errorAt !== null && errorAt !== undefined ? { errorAt: new Date(numberOf(errorAt)) } : {}),
    ...(headers !== null && headers !== undefined ? { headers: headersOf(headers) } : {}),
    ...(Buffer.isBuffer(body) ? { body } : {}),
  };
}

export function groupOf(reply: Reply): GroupInfo {
  const map = mapOf(reply);
  const heldBy = textOrUndefined(map.get("held_by"));
  return {
    group: textOf(map.get("group")),
    delayed: numberOrZero(map.get("delayed")),
    ready: numberOrZero(map.get("ready")),
    running: numberOrZero(map.get("running")),
    buried: numberOrZero(map.get("buried")),
    held: numberOrZero(map.get("held")),
    ...(heldBy !== undefined ? { heldBy } : {}),
    heldLeftMs: numberOrZero(map.get("held_left")),
    overdueMs: numberOrZero(map.get("overdue")),
  };
}

export function statsOf(reply: Reply): Stats {
  const stats: Record<string, number | string> = {};
  for (const [name, value] of mapOf(reply)) {
    if (name === "held_by") {
      const heldBy = textOrUndefined(value);
      if (heldBy !== undefined) stats["heldBy"] = heldBy;
    } else if (value !== null) {
      const number = Number(value);
      if (!Number.isNaN(number)) stats[camel(name)] = number;
    }
  }
  return stats as unknown as Stats;
}
