#!/usr/bin/env node
// worker.js [PORT [COUNT]]: does the jobs of the tube `mails` of `elapse serve`, with node-redis (npm
// install redis). With COUNT it ends after so many hand-outs. To give it something to do:
//
//     redis-cli -p 11300 PUT mails hello IN 2s ATTEMPTS 5 BACKOFF 1s 10m
"use strict";

const { createClient } = require("redis");

// The work. A job may be handed out twice, so it must be safe to repeat.
async function doJob(body) {
  if (body === "broken") throw new Error("it cannot be done");
}

async function work(port, count) {
  // Commands behind a RESERVE that waits on one connection wait with it. A program that also puts
  // jobs takes another connection for that.
  const queue = createClient({ socket: { port } });
  queue.on("error", (error) => console.error(error.message));
  await queue.connect();
  let left = count;
  while (left > 0) {
    const most = String(Math.min(left, 10));
    const jobs = await queue.sendCommand(["RESERVE", "mails", "COUNT", most, "WAIT", "5s"]);
    for (const [id, lease, , , body] of jobs) {
      left--;
      const isDone = await doJob(body).then(() => true, () => false);
      await queue.sendCommand([isDone ? "ACK" : "NACK", String(id), lease]);
      console.log(isDone ? "did" : "failed", body);
    }
  }
  await queue.quit();
}

work(Number(process.argv[2] || 11300), Number(process.argv[3] || Infinity)).catch((error) => {
  console.error(error.message);
  process.exit(1);
});
