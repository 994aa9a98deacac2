// Traces and metrics, by the real API of OpenTelemetry with a provider of the test: there is no SDK here.
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { test } from "node:test";
import { context, metrics, propagation, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { Worker } from "elapse-client";
import { serve, until } from "./support.mjs";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const spans = [];
const counted = [];

const storage = new AsyncLocalStorage();
context.setGlobalContextManager({
  active: () => storage.getStore() ?? ROOT_CONTEXT,
  with: (active, run, self, ...args) => storage.run(active, () => run.apply(self, args)),
  bind: (_, target) => target,
  enable() {
    return this;
  },
  disable() {
    return this;
  },
});
propagation.setGlobalPropagator({
  inject: (active, carrier, setter) => {
    const span = trace.getSpanContext(active);
    if (span !== undefined) setter.set(carrier, "traceparent", `00-${span.traceId}-${span.spanId}-01`);
  },
  extract: (active, carrier, getter) => {
    const [, traceId, spanId] = String(getter.get(carrier, "traceparent") ?? "").split("-");
    return spanId === undefined ? active : trace.setSpanContext(active, { traceId, spanId, traceFlags: 1 });
  },
  fields: () => ["traceparent"],
});
trace.setGlobalTracerProvider({
  getTracer: () => ({
    startActiveSpan(name, options, run) {
      const spanContext = { traceId: TRACE, spanId: String(spans.length + 1).padStart(16, "0"), traceFlags: 1 };
      const span = {
        name,
        options,
        spanContext: () => spanContext,
        end: () => {
          span.ended = true;
        },
        recordException: (error) => {
          span.error = error;
        },
        setStatus: (status) => {
          span.status = status;
        },
      };
      spans.push(span);
      return context.with(trace.setSpan(context.active(), span), run, undefined, span);
    },
  }),
});
metrics.setGlobalMeterProvider({
  getMeter: () => ({
    createCounter: (name) => ({ add: (value, attributes) => counted.push([name, value, attributes]) }),
    createHistogram: (name) => ({ record: (value, attributes) => counted.push([name, value, attributes]) }),
  }),
});

test("a put writes its span into the headers, and the handler's span is linked to it", async (t) => {
  const { server, client } = await serve(t);
  const { id } = await client.put("t", "x", { headers: { who: "me" }, attempts: 1 });
  const { headers } = await client.lookupId(id);
  assert.deepEqual(headers, { traceparent: `00-${TRACE}-0000000000000001-01`, who: "me" });
  let inside;
  const worker = new Worker(
    "t",
    () => {
      inside = trace.getSpanContext(context.active());
      throw new Error("it failed");
    },
    { addresses: server.address, signals: [] },
  );
  const ended = worker.run();
  await until(() => counted.length === 2);
  await worker.stop();
  await ended;
  const [put, process] = spans;
  assert.deepEqual([put.name, put.options.kind, put.ended], ["put t", 3, true]);
  assert.deepEqual([process.name, process.options.kind, process.ended], ["process t", 4, true]);
  assert.equal(process.options.links[0].context.spanId, put.spanContext().spanId);
  assert.equal(inside.spanId, process.spanContext().spanId);
  assert.deepEqual([process.error.message, process.status.code], ["it failed", 2]);
  assert.deepEqual(
    counted.map(([name, , attributes]) => [name, attributes]),
    [
      ["elapse.jobs", { tube: "t", outcome: "failed" }],
      ["elapse.job.duration", { tube: "t", outcome: "failed" }],
    ],
  );
});
