<?php
// Pheanstalk: each command that it has, against the server on the port of loopback that is given.
// Prints a line "ok NAME", or "failed NAME: why", for each check.
require 'Pheanstalk/autoload.php';

use Pheanstalk\JobId;
use Pheanstalk\Pheanstalk;

// Each check has a connection of its own.
function check(string $name, callable $body): void
{
    global $argv;
    try {
        $body(Pheanstalk::create('127.0.0.1', (int) $argv[1]));
        echo "ok $name\n";
    } catch (Throwable $error) {
        echo "failed $name: " . get_class($error) . ': ' . str_replace("\n", ' ', $error->getMessage()) . "\n";
    }
}

function same($found, $expected): void
{
    if ($found !== $expected) {
        throw new Exception(json_encode($found) . ' is not ' . json_encode($expected));
    }
}

function fails(callable $body, string $class): void
{
    try {
        $body();
    } catch (Throwable $error) {
        same(get_class($error), "Pheanstalk\\Exception\\$class");
        return;
    }
    throw new Exception("no $class");
}

function in_tube(string $tube, callable $body): callable
{
    return function ($client) use ($tube, $body) {
        $client->useTube($tube);
        $client->watch($tube);
        foreach ($body($client) as $job) {
            $client->delete($job);
        }
    };
}

check('a body of any bytes', in_tube('any', function ($client) {
    $body = "\u{e4}\r\n\0\xff";
    $put = $client->put($body);
    $job = $client->reserve();
    same([$job->getId(), bin2hex($job->getData())], [$put->getId(), bin2hex($body)]);
    return [$job];
}));
check('a long body', in_tube('long', function ($client) {
    $client->put(str_repeat('x', 60000));
    $job = $client->reserve();
    same(strlen($job->getData()), 60000);
    return [$job];
}));
check('the least priority comes first', in_tube('priority', function ($client) {
    $late = $client->put('late', 9);
    $early = $client->put('early', 3);
    same([$client->reserve()->getId(), $client->reserve()->getId()], [$early->getId(), $late->getId()]);
    return [$early, $late];
}));
check('release', in_tube('release', function ($client) {
    $client->put('a');
    $job = $client->reserve();
    $client->release($job, 5, 0);
    same($client->reserve()->getId(), $job->getId());
    return [$job];
}));
check('bury and kick', in_tube('bury', function ($client) {
    $client->put('a');
    $job = $client->reserve();
    $client->bury($job, 7);
    same($client->peekBuried()->getId(), $job->getId());
    same($client->kick(10), 1);
    same($client->peekReady()->getId(), $job->getId());
    return [$job];
}));
check('kick of one job', in_tube('kick', function ($client) {
    $job = $client->put('a', 0, 1000);
    same($client->peekDelayed()->getId(), $job->getId());
    $client->kickJob($job);
    same($client->reserve()->getId(), $job->getId());
    return [$job];
}));
check('touch', in_tube('touch', function ($client) {
    $client->put('a');
    $job = $client->reserve();
    $client->touch($job);
    return [$job];
}));
check('peek by id', in_tube('id', function ($client) {
    $job = $client->put('a');
    same($client->peek(new JobId($job->getId()))->getData(), 'a');
    return [$job];
}));
check('nothing to reserve', fn($client) => same($client->reserveWithTimeout(0), null));
check('no such job', fn($client) => fails(fn() => $client->delete(new JobId(999999)), 'JobNotFoundException'));
check('nothing to peek at', fn($client) => same([$client->peekReady(), $client->peekDelayed(), $client->peekBuried()],
                                         [null, null, null]));
check('lists of tubes', in_tube('tube', function ($client) {
    same($client->listTubes()[0], 'default');
    same(in_array('tube', $client->listTubes()), true);
    same($client->listTubesWatched(true), ['default', 'tube']);
    same($client->listTubeUsed(true), 'tube');
    return [];
}));
check('pause', in_tube('pause', function ($client) {
    $job = $client->put('a');
    $client->pauseTube('pause', 1000);
    same($client->reserveWithTimeout(0), null);
    same($client->statsTube('pause')['pause'], '1000');
    $client->resumeTube('pause');
    return [$job];
}));
check('statistics of a job', in_tube('job', function ($client) {
    $job = $client->put('a', 3, 100, 50);
    $found = (array) $client->statsJob($job);
    same([$found['id'], $found['tube'], $found['state'], $found['pri'], $found['delay'], $found['ttr']],
         [(string) $job->getId(), 'job', 'delayed', '3', '100', '50']);
    return [$job];
}));
check('statistics of the server', function ($client) {
    $all = (array) $client->stats();
    same((int) $all['current-connections'] >= 1, true);
    same(isset($all['']), false);
});
