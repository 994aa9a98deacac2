/**
 * Tracing and metrics by OpenTelemetry's API, if the program has it (`@opentelemetry/api`): a put writes
 * `traceparent` into the headers, and a handler runs in a span that is linked to it. Without it nothing
 * happens here.
 */
import { createRequire } from "node:module";

interface Span {
  end(): void;
  recordException(error: Error): void;
  setStatus(status: { code: number; message?: string }): void;
}
interface Instrument {
  add(value: number, attributes?: object): void;
  record(value: number, attributes?: object): void;
}
interface Api {
  context: { active(): unknown };
  propagation: {
    inject(context: unknown, carrier: object): void;
    extract(context: unknown, carrier: object): unknown;
  };
  trace: {
    getTracer(name: string): {
      startActiveSpan<T>(name: string, options: object, run: (span: Span) => T): T;
    };
    getSpanContext(context: unknown): object | undefined;
  };
  metrics: {
    getMeter(name: string): {
      createCounter(name: string, options?: object): Instrument;
      createHistogram(name: string, options?: object): Instrument;
    };
  };
  ROOT_CONTEXT: unknown;
}

function load(): Api | undefined {
  try {
    return createRequire(__filename)("@opentelemetry/api") as Api;
  } catch {
    return undefined;
  }
}

const api = load();
const NAME = "elapse-client";
const PRODUCER = 3; // SpanKind of OpenTelemetry
const CONSUMER = 4;
const FAILED = 2; // SpanStatusCode

/** The headers of a put, with those of the trace that is active. */
export function withTrace(headers: Readonly<Record<string, string>> | undefined): Record<string, string> | undefined {
  if (api === undefined) return headers;
  const carrier: Record<string, string> = {};
  api.propagation.inject(api.context.active(), carrier);
  return { ...carrier, ...headers };
}

/** Runs a put in a span of its own. */
export function inPutSpan<T>(tube: string, run: () => Promise<T>): Promise<T> {
  if (api === undefined) return run();
  return inSpan(api, `put ${tube}`, { kind: PRODUCER, attributes: { "messaging.destination.name": tube } }, run);
}

/** Runs a handler in a span that is linked to the span of the put. */
export function inJobSpan<T>(
  job: { id: number; tube: string; headers: Readonly<Record<string, string>> },
  run: () => Promise<T>,
): Promise<T> {
  if (api === undefined) return run();
  const from = api.trace.getSpanContext(api.propagation.extract(api.ROOT_CONTEXT, job.headers));
  return inSpan(
    api,
    `process ${job.tube}`,
    {
      kind: CONSUMER,
      links: from === undefined ? [] : [{ context: from }],
      attributes: { "messaging.destination.name": job.tube, "messaging.message.id": String(job.id) },
    },
    run,
  );
}

function inSpan<T>(by: Api, name: string, options: object, run: () => Promise<T>): Promise<T> {
  return by.trace.getTracer(NAME).startActiveSpan(name, options, async (span) => {
    try {
      return await run();
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error));
      span.recordException(failure);
      span.setStatus({ code: FAILED, message: failure.message });
      throw error;
    } finally {
      span.end();
    }
  });
}

let jobs: Instrument | undefined;
let durations: Instrument | undefined;

/** Counts a job that ended in a handler: `elapse.jobs`, and how long it took, `elapse.job.duration`. */
export function countJob(tube: string, outcome: string, seconds: number): void {
  if (api === undefined) return;
  const meter = api.metrics.getMeter(NAME);
  jobs ??= meter.createCounter("elapse.jobs", { description: "jobs that handlers ended" });
  durations ??= meter.createHistogram("elapse.job.duration", { unit: "s" });
  jobs.add(1, { tube, outcome });
  durations.record(seconds, { tube, outcome });
}
