#!/usr/bin/env node
// worker.js [PORT [COUNT]]: does the jobs of the tube `mails` of `elapse serve`, with the package
// elapse-client (clients/javascript). With COUNT it ends after so many hand-outs. To give it something to do:
//
//     redis-cli -p 11300 PUT mails hello IN 2s ATTEMPTS 5 BACKOFF 1s 10m
"use strict";

const { Worker } = require("elapse-client");

const port = Number(process.argv[2] || 11300);
let left = Number(process.argv[3] || Infinity);

// The work. A job may be handed out twice, so it must be safe to repeat.
async function doJob(job) {
  if (job.text() === "broken") throw new Error("it cannot be done");
}

const worker = new Worker("mails", doJob, {
  addresses: `127.0.0.1:${port}`,
  concurrency: Math.min(left, 10),
  hooks: {
    after: (job, outcome) => {
      console.log(outcome === "done" ? "did" : outcome, job.text());
      if (--left === 0) worker.stop();
    },
  },
});

worker.run().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
