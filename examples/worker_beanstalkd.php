#!/usr/bin/env php
<?php
// worker_beanstalkd.php [PORT [COUNT]]: as worker.php, with a client for beanstalkd, Pheanstalk
// (composer require pda/pheanstalk). What it cannot do it buries: `elapse list mails --state buried`.
// To give it something to do:
//
//     redis-cli -p 11300 PUT mails hello IN 2s

declare(strict_types=1);

require 'Pheanstalk/autoload.php'; // where Debian has it; with Composer 'vendor/autoload.php'

// The work. A job may be handed out twice, so it must be safe to repeat.
function doJob(string $body): void
{
    if ($body === 'broken') {
        throw new RuntimeException('it cannot be done');
    }
}

$left = (int) ($argv[2] ?? PHP_INT_MAX);
$queue = Pheanstalk\Pheanstalk::create('127.0.0.1', (int) ($argv[1] ?? 11300));
$queue->watchOnly('mails');

while ($left > 0) {
    // It is null when there was no job for so many seconds.
    $job = $queue->reserveWithTimeout(5);
    if ($job === null) {
        continue;
    }
    $left--;
    try {
        doJob($job->getData());
        $queue->delete($job);
        echo "did {$job->getData()}\n";
    } catch (RuntimeException) {
        $queue->bury($job);
        echo "failed {$job->getData()}\n";
    }
}
