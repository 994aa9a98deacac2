// node_bullmq.mjs ADDRESS one|hundred|work COUNT: one measure of race.py with BullMQ, which removes what is completed.
import { Queue, Worker } from "bullmq";
import Redis from "ioredis";

const [address, what, number] = process.argv.slice(2);
const count = Number(number);
const [host, port] = address.split(":");
const connection = new Redis({ host, port: Number(port), maxRetriesPerRequest: null });
const body = { to: "ann@example.org" };
const options = { removeOnComplete: true };
const queue = new Queue("jobs", { connection });
const warm = new Queue("warm", { connection });
await warm.add("warm", body);
await queue.waitUntilReady();

async function hundreds() {
  for (let i = 0; i < count / 100; i++) {
    await queue.addBulk(Array.from({ length: 100 }, () => ({ name: "job", data: body, opts: options })));
  }
}

let begun = performance.now();
if (what === "one") {
  for (let i = 0; i < count; i++) await queue.add("job", body, options);
} else {
  await hundreds();
}
let took = performance.now() - begun;
let done = (await queue.getJobCounts()).waiting ?? 0;
if (what === "work") {
  done = 0;
  begun = undefined;
  const worker = new Worker("jobs", async () => {
    begun ??= performance.now();
  }, { connection, concurrency: 100 });
  await new Promise((resolve) => worker.on("completed", () => {
    if (++done === count) resolve();
  }));
  took = performance.now() - begun;
  const left = await queue.getJobCounts("waiting", "active", "failed");
  done -= left.waiting + left.active + left.failed;
  await worker.close();
}
console.log(JSON.stringify({ seconds: took / 1000, count: done }));
await Promise.all([queue.close(), warm.close()]);
connection.disconnect();
