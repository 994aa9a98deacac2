/** The package `elapse-client`: a client and a worker for `elapse serve`. */
export { Client } from "./client.js";
export type { CancelOutcome, ClientOptions, LeaseOutcome, Limits } from "./client.js";
export type { ConnectOptions } from "./connection.js";
export {
  AuthenticationError,
  BatchError,
  BusyKeyError,
  CancelledError,
  CrossSlotError,
  DamagedError,
  DiskError,
  DiskFullError,
  DrainingError,
  ElapseError,
  InvalidError,
  LeaseLostError,
  LimitError,
  OutOfMemoryError,
  PermissionError,
  ProtocolError,
  ReplyError,
  StoppedError,
  TimeLimitError,
  TransactionAbortedError,
  TryAgainError,
  UnavailableError,
  UncertainError,
  UnknownError,
} from "./errors.js";
export { Job } from "./job.js";
export type { Counts, GroupInfo, JobInfo, JobState, Stats } from "./look.js";
export { arrive, gather, put } from "./put.js";
export type { Arrival, ArriveResult, GatherOptions, IfKey, Put, PutOptions, PutResult } from "./put.js";
export { Transaction } from "./transaction.js";
export type { Due, TransactionResult } from "./transaction.js";
export { jsonCodec } from "./values.js";
export type { Codec, Duration, Reply, Time } from "./values.js";
export { Bury, RetryIn, Worker } from "./worker.js";
export type { Handler, Hooks, Outcome, WorkerOptions } from "./worker.js";
