// fivebeans: each command that it has, against the server on the port of loopback that is given.
// Prints a line "ok NAME", or "failed NAME: why", for each check.
const fivebeans = require('fivebeans')
const { run, same } = require('./checks.js')

const connect = (port) => new Promise((resolve, reject) => {
  const client = new fivebeans.client('127.0.0.1', port)
  client.on('connect', () => resolve(client)).on('error', reject).connect()
})

run(connect, (client) => {
  // Resolves to the values of the answer.
  const say = (verb, ...words) => new Promise((resolve, reject) =>
    client[verb](...words, (error, ...values) => (error ? reject(new Error(error)) : resolve(values))))
  const begin = async (tube) => {
    await say('use', tube)
    await say('watch', tube)
  }
  const end = async (...ids) => {
    for (const id of ids) await say('destroy', id)
  }
  const put = async (body, priority = 0, delay = 0, ttr = 60) => (await say('put', priority, delay, ttr, body))[0]
  const fails = async (promise, word) => same(await promise.then(() => null, (error) => error.message), word)

  return {
    'a body of any bytes': async () => {
      await begin('any')
      const body = Buffer.from('ä\r\n\0é')
      const id = await put(body)
      const [taken, payload] = await say('reserve')
      same([taken, Buffer.compare(Buffer.from(payload), body)], [id, 0])
      await end(id)
    },
    'a long body': async () => {
      await begin('long')
      const id = await put('x'.repeat(60000))
      same((await say('reserve'))[1].length, 60000)
      await end(id)
    },
    'the least priority comes first': async () => {
      await begin('priority')
      const late = await put('late', 9)
      const early = await put('early', 3)
      same([(await say('reserve'))[0], (await say('reserve'))[0]], [early, late])
      await end(early, late)
    },
    'release': async () => {
      await begin('release')
      const id = await put('a')
      await say('reserve')
      await say('release', id, 5, 0)
      same((await say('reserve'))[0], id)
      await end(id)
    },
    'bury and kick': async () => {
      await begin('bury')
      const id = await put('a')
      await say('reserve')
      await say('bury', id, 7)
      same((await say('peek_buried'))[0], id)
      same(Number((await say('kick', 10))[0]), 1)
      same((await say('peek_ready'))[0], id)
      await end(id)
    },
    'kick of one job': async () => {
      await begin('kick')
      const id = await put('a', 0, 1000)
      same((await say('peek_delayed'))[0], id)
      await say('kick_job', id)
      same((await say('reserve'))[0], id)
      await end(id)
    },
    'touch': async () => {
      await begin('touch')
      const id = await put('a')
      await say('reserve')
      await say('touch', id)
      await end(id)
    },
    'peek by id': async () => {
      await begin('id')
      const id = await put('a')
      same((await say('peek', id))[1].toString(), 'a')
      await end(id)
    },
    'nothing to reserve': () => fails(say('reserve_with_timeout', 0), 'TIMED_OUT'),
    'no such job': () => fails(say('destroy', 999999), 'NOT_FOUND'),
    'the last tube is not ignored': () => fails(say('ignore', 'default'), 'NOT_IGNORED'),
    'lists of tubes': async () => {
      await begin('tube')
      const [tubes] = await say('list_tubes')
      same([tubes[0], tubes.includes('tube')], ['default', true])
      same((await say('list_tubes_watched'))[0], ['default', 'tube'])
      same((await say('list_tube_used'))[0], 'tube')
    },
    'pause': async () => {
      await begin('pause')
      const id = await put('a')
      await say('pause_tube', 'pause', 1000)
      await fails(say('reserve_with_timeout', 0), 'TIMED_OUT')
      same((await say('stats_tube', 'pause'))[0].pause, 1000)
      await end(id)
    },
    'statistics of a job': async () => {
      await begin('job')
      const id = await put('a', 3, 100, 50)
      const [job] = await say('stats_job', id)
      same([String(job.id), job.tube, job.state, job.pri, job.delay, job.ttr], [id, 'job', 'delayed', 3, 100, 50])
      await end(id)
    },
    'statistics of the server': async () => {
      const [all] = await say('stats')
      same(all['current-connections'] >= 1, true)
    },
    'the operating system': async () => {
      const [all] = await say('stats')
      same([typeof all.os, typeof all.platform, typeof all.hostname], ['string', 'string', 'string'])
    },
  }
})
