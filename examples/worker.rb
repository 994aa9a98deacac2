#!/usr/bin/env ruby
# worker.rb [PORT [COUNT]]: does the jobs of the tube `mails` of `elapse serve`, with the gem redis.
# With COUNT it ends after so many hand-outs. To give it something to do:
#
#     redis-cli -p 11300 PUT mails hello IN 2s ATTEMPTS 5 BACKOFF 1s 10m

require "redis"

# The work. A job may be handed out twice, so it must be safe to repeat.
def do_job(body)
  raise "it cannot be done" if body == "broken"
end

# The client's own time-out has to be longer than WAIT.
queue = Redis.new(port: Integer(ARGV[0] || 11300), timeout: 30)
left = Integer(ARGV[1] || 1 << 62)
$stdout.sync = true

while left > 0
  jobs = queue.call("RESERVE", "mails", "COUNT", [left, 10].min, "WAIT", "5s")
  jobs.each do |id, lease, _tube, _key, body, _due, _attempt, _missed|
    left -= 1
    begin
      do_job(body)
    rescue RuntimeError
      queue.call("NACK", id, lease)
      puts "failed #{body}"
    else
      queue.call("ACK", id, lease)
      puts "did #{body}"
    end
  end
end
