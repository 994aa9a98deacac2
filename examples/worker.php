#!/usr/bin/env php
<?php
// worker.php [PORT [COUNT]]: does the jobs of the tube `mails` of `elapse serve`, with phpredis. With
// COUNT it ends after so many hand-outs. To give it something to do:
//
//     redis-cli -p 11300 PUT mails hello IN 2s ATTEMPTS 5 BACKOFF 1s 10m

declare(strict_types=1);

// The work. A job may be handed out twice, so it must be safe to repeat.
function doJob(string $body): void
{
    if ($body === 'broken') {
        throw new RuntimeException('it cannot be done');
    }
}

// Sends a command, and ends the program if the server says no.
function ask(Redis $queue, string ...$words): array|string
{
    $reply = $queue->rawCommand(...$words);
    if ($reply === false) {
        fwrite(STDERR, 'worker.php: ' . $queue->getLastError() . "\n");
        exit(1);
    }
    return $reply === true ? 'OK' : $reply;
}

$left = (int) ($argv[2] ?? PHP_INT_MAX);
$queue = new Redis();
// The last is the client's own time-out for a reply, in seconds: longer than WAIT.
$queue->connect('127.0.0.1', (int) ($argv[1] ?? 11300), 5, null, 0, 30);

while ($left > 0) {
    $jobs = ask($queue, 'RESERVE', 'mails', 'COUNT', (string) min($left, 10), 'WAIT', '5s');
    foreach ($jobs as [$id, $lease, , , $body]) {
        $left--;
        try {
            doJob($body);
            ask($queue, 'ACK', (string) $id, $lease);
            echo "did $body\n";
        } catch (RuntimeException) {
            ask($queue, 'NACK', (string) $id, $lease);
            echo "failed $body\n";
        }
    }
}
