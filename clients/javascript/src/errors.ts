/**
 * Errors: one class for each code of the server, all below {@link ElapseError}.
 *
 * An answer of the server is a {@link ReplyError}; `code` is the word that it begins with. What went
 * wrong on the way to the server is an {@link UnavailableError}: nothing was done. What may have been
 * done is an {@link UncertainError}.
 */
import type { PutResult } from "./put.js";

/** The base of every error that this package throws. */
export class ElapseError extends Error {
  /** The code of the server, such as `BUSYKEY`, or a word of this package. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** The command was not done: no server could be reached, or asked, before the deadline. */
export class UnavailableError extends ElapseError {
  constructor(message: string, options?: ErrorOptions) {
    super("UNAVAILABLE", message, options);
  }
}

/** The command was sent, and nobody knows whether it was done. Look before you send it again. */
export class UncertainError extends ElapseError {
  constructor(message: string, options?: ErrorOptions) {
    super("UNCERTAIN", message, options);
  }
}

/** Some puts of many failed, and the others are done. */
export class BatchError extends ElapseError {
  /** For each put in its place its result, or its error. */
  readonly results: readonly (PutResult | Error)[];

  constructor(results: readonly (PutResult | Error)[]) {
    const failed = results.filter((one) => one instanceof Error);
    super("BATCH", `${failed.length} of ${results.length} puts failed, the first one with: ${String(failed[0])}`, {
      cause: failed[0],
    });
    this.results = results;
  }
}

/** The lease of the job has ended: another worker may have the job. Stop working on it. */
export class LeaseLostError extends ElapseError {
  constructor(message: string) {
    super("LEASELOST", message);
  }
}

/** The job was cancelled while a handler worked on it. Stop working on it. */
export class CancelledError extends ElapseError {
  constructor(message: string) {
    super("CANCELLED", message);
  }
}

/** The handler took longer than the worker's `timeLimit`. */
export class TimeLimitError extends ElapseError {
  constructor(message: string) {
    super("TIMELIMIT", message);
  }
}

/** The worker stops, and the time that it gives its handlers is over. */
export class StoppedError extends ElapseError {
  constructor(message: string) {
    super("STOPPED", message);
  }
}

/** The server answered an error. Nothing has changed. */
export class ReplyError extends ElapseError {}

/** `ERR`: the command cannot be understood. */
export class InvalidError extends ReplyError {}

/** `BUSYKEY`: another job has the key. */
export class BusyKeyError extends ReplyError {
  /** The id of the job that has the key. */
  readonly id: number;

  constructor(code: string, message: string) {
    super(code, message);
    this.id = Number.parseInt(message, 10);
  }
}

/** `DISKFULL`: the disk of the server is full. */
export class DiskFullError extends ReplyError {}
/** `DISKERROR`: the disk of the server cannot be read now. */
export class DiskError extends ReplyError {}
/** `DAMAGED`: the body of the job is damaged on the disk. */
export class DamagedError extends ReplyError {}
/** `LIMIT`: there are as many jobs, tubes, groups or tokens as there may be. */
export class LimitError extends ReplyError {}
/** `OOM`: the server has as much memory as it may take. */
export class OutOfMemoryError extends ReplyError {}
/** `DRAINING`: the server takes no new jobs, because it is about to end. */
export class DrainingError extends ReplyError {}
/** `EXECABORT`: the transaction was discarded, and nothing is done. */
export class TransactionAbortedError extends ReplyError {}
/** `NOAUTH`, `WRONGPASS`: the server wants a password, or another one. */
export class AuthenticationError extends ReplyError {}
/** `NOPERM`: the user may not do this to this tube. */
export class PermissionError extends ReplyError {}
/** `NOPROTO`: the server does not speak this version of RESP. */
export class ProtocolError extends ReplyError {}
/** `CROSSSLOT`: the parts of the transaction belong to different partitions of the cluster. */
export class CrossSlotError extends ReplyError {}
/** `TRYAGAIN`: the partition of the cluster has no owner now. Nothing has changed. */
export class TryAgainError extends ReplyError {}
/** `UNKNOWN`: the partition of the cluster was lost before it answered. */
export class UnknownError extends ReplyError {}

const CLASSES: Readonly<Record<string, new (code: string, message: string) => ReplyError>> = {
  ERR: InvalidError,
  BUSYKEY: BusyKeyError,
  DISKFULL: DiskFullError,
  DISKERROR: DiskError,
  DAMAGED: DamagedError,
  LIMIT: LimitError,
  OOM: OutOfMemoryError,
  DRAINING: DrainingError,
  EXECABORT: TransactionAbortedError,
  NOAUTH: AuthenticationError,
  WRONGPASS: AuthenticationError,
  NOPERM: PermissionError,
  NOPROTO: ProtocolError,
  CROSSSLOT: CrossSlotError,
  TRYAGAIN: TryAgainError,
  UNKNOWN: UnknownError,
};

/** Makes the error of a line of the server, such as `BUSYKEY 3 has this key`. */
export function errorOfReply(line: string): ReplyError {
  const [, code = "ERR", text = line] = /^([A-Z]+)(?: (.*))?$/s.exec(line) ?? [];
  return new (CLASSES[code] ?? ReplyError)(code, text || code);
}
