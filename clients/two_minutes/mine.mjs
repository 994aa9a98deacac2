import { Client, Worker } from "elapse-client";

const addresses = process.argv[2];
const client = new Client(addresses);
await client.put("mails", { to: "ann" }, { in: "10ms" });
await client.close();

const worker = new Worker("mails", (job) => {
  console.log("a mail to", job.data().to);
  worker.stop();
}, { addresses });
await worker.run();
