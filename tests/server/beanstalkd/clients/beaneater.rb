# Runs each command of the client Beaneater against the server on the given port of loopback. For each
# check prints a line "ok NAME" or "failed NAME: why".
require 'beaneater'

# Each check has a connection of its own.
def check(name)
  client = Beaneater.new("127.0.0.1:#{ARGV[0]}")
  yield client
  puts "ok #{name}"
rescue StandardError => e
  puts "failed #{name}: #{e.class}: #{e.message.tr("\n", ' ')}"
end

def same(found, expected)
  raise "#{found.inspect} is not #{expected.inspect}" unless found == expected
end

def fails(kind)
  yield
rescue kind
  nil
else
  raise "no #{kind}"
end

# Puts a job, and yields its tube and its id.
def with_job(client, tube_name, body = 'a', **options)
  tube = client.tubes[tube_name]
  yield tube, tube.put(body, options)[:id]
end

check('a body of any bytes') do |client|
  body = "\u00e4\r\n\0\xff".b
  with_job(client, 'any', body) do |tube, id|
    job = tube.reserve(1)
    same([job.id, job.body.b], [id, body])
    job.delete
  end
end
check('a long body') { |client| with_job(client, 'long', 'x' * 60_000) { |tube| job = tube.reserve(1); same(job.body.size, 60_000); job.delete } }
check('the least priority comes first') do |client|
  tube = client.tubes['priority']
  late = tube.put('late', pri: 9)[:id]
  early = tube.put('early', pri: 3)[:id]
  jobs = [tube.reserve(1), tube.reserve(1)]
  same(jobs.map(&:id), [early, late])
  jobs.each(&:delete)
end
check('release') do |client|
  with_job(client, 'release') do |tube, id|
    tube.reserve(1).release(pri: 5, delay: 0)
    job = tube.reserve(1)
    same(job.id, id)
    job.delete
  end
end
check('bury and kick') do |client|
  with_job(client, 'bury') do |tube, id|
    tube.reserve(1).bury(pri: 7)
    same(tube.peek(:buried).id, id)
    tube.kick(10)
    same(tube.peek(:ready).id, id)
  end
end
check('kick of one job') do |client|
  with_job(client, 'kick', delay: 1000) do |tube, id|
    same(tube.peek(:delayed).id, id)
    client.jobs.find(id).kick
    same(tube.peek(:ready).id, id)
  end
end
check('touch') { |client| with_job(client, 'touch') { |tube| job = tube.reserve(1); job.touch; job.delete } }
check('peek by id') { |client| with_job(client, 'id') { |_, id| same(client.jobs.find(id).body, 'a') } }
check('nothing to reserve') { |client| fails(Beaneater::TimedOutError) { client.tubes['empty'].reserve(0) } }
check('no such job') { |client| same(client.jobs.find(999_999), nil) }
check('nothing to peek at') { |client| same(%i[ready delayed buried].map { |state| client.tubes['empty'].peek(state) }, [nil] * 3) }
check('lists of tubes') do |client|
  client.tubes.watch!('default', 'tube')
  client.tubes.use('tube')
  same(client.tubes.all.first.name, 'default')
  same(client.tubes.all.map(&:name).include?('tube'), true)
  same(client.tubes.watched.map(&:name).sort, %w[default tube])
  same(client.tubes.used.name, 'tube')
end
check('pause') do |client|
  with_job(client, 'pause') do |tube|
    tube.pause(1000)
    fails(Beaneater::TimedOutError) { tube.reserve(0) }
    same(tube.stats.pause, 1000)
    tube.pause(0)
  end
end
check('statistics of a job') do |client|
  with_job(client, 'job', pri: 3, delay: 100, ttr: 50) do |_, id|
    job = client.jobs.find(id)
    found = job.stats
    same([found.id.to_s, found.tube, found.state, found.pri, found.delay, found.ttr], [id, 'job', 'delayed', 3, 100, 50])
    same([job.ttr, job.pri, job.delay, job.tube], [50, 3, 100, 'job'])
  end
end
check('statistics of the server') { |client| same(client.stats.current_connections >= 1, true) }
check('the operating system') { |client| same([client.stats.os.class, client.stats.platform.class, client.stats.hostname.class], [String] * 3) }
check('clear') do |client|
  tube = client.tubes['clear']
  tube.put('a')
  tube.put('b', delay: 1000)
  tube.clear
  same([tube.peek(:ready), tube.peek(:delayed)], [nil, nil])
end
