// node_elapse.mjs ADDRESS one|hundred|work COUNT: one measure of race.py with the package for JavaScript.
import { Client, Worker } from "elapse-client";

const [address, what, number] = process.argv.slice(2);
const count = Number(number);
const body = { to: "ann@example.org" };
const client = new Client(address);
await client.put("warm", body);

async function hundreds() {
  for (let i = 0; i < count / 100; i++) await Promise.all(Array.from({ length: 100 }, () => client.put("jobs", body)));
}

let begun = performance.now();
if (what === "one") {
  for (let i = 0; i < count; i++) await client.put("jobs", body);
} else {
  await hundreds();
}
let took = performance.now() - begun;
if (what === "work") {
  let done = 0;
  begun = undefined;
  const worker = new Worker("jobs", () => {
    begun ??= performance.now();
  }, { addresses: address, concurrency: 100, hooks: { after: (job, outcome) => {
    if (outcome === "done" && ++done === count) {
      took = performance.now() - begun;
      worker.stop();
    }
  } } });
  await worker.run();
}
const { totalDone, totalPut } = await client.stats();
console.log(JSON.stringify({ seconds: took / 1000, count: what === "work" ? totalDone : totalPut - 1 })); // without the first one
await client.close();
