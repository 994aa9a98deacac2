// jackd: each command that it has, against the server on the port of loopback that is given.
// Prints a line "ok NAME", or "failed NAME: why", for each check.
const Jackd = require('jackd')
const { run, same } = require('./checks.js')

// Statistics come as text; as the client says, a reader of YAML is the program's own.
const field = (yaml, name) => new RegExp(`^${name}: (.+)$`, 'm').exec(yaml)[1]
const items = (yaml) => yaml.toString().split('\n').filter((line) => line.startsWith('- ')).map((line) => line.slice(2))

const connect = (port) => new Jackd().connect({ host: '127.0.0.1', port })

run(connect, (client) => {
  const begin = async (tube) => {
    await client.use(tube)
    await client.watch(tube)
  }
  const end = async (...ids) => {
    for (const id of ids) await client.delete(id)
  }
  const fails = async (promise, word) => {
    const error = await promise.then(() => null, (error) => error)
    same(error && error.message.includes(word), true)
  }

  return {
    'a body with the ends of lines': async () => {
      await begin('lines')
      const id = await client.put('ä\r\n\0é')
      const job = await client.reserve()
      same([job.id, job.payload.toString()], [id, 'ä\r\n\0é'])
      await end(id)
    },
    'a body as a Buffer': async () => {
      await begin('buffer')
      const id = await client.put(Buffer.from([0, 255]))
      same((await client.reserve()).payload.toString('hex'), '00ff')
      await end(id)
    },
    'a long body': async () => {
      await begin('long')
      const id = await client.put('x'.repeat(60000))
      same((await client.reserve()).payload.length, 60000)
      await end(id)
    },
    'the least priority comes first': async () => {
      await begin('priority')
      const late = await client.put('late', { priority: 9 })
      const early = await client.put('early', { priority: 3 })
      same([(await client.reserve()).id, (await client.reserve()).id], [early, late])
      await end(early, late)
    },
    'release': async () => {
      await begin('release')
      const id = await client.put('a')
      await client.reserve()
      await client.release(id, { priority: 5, delay: 0 })
      same((await client.reserve()).id, id)
      await end(id)
    },
    'bury and kick': async () => {
      await begin('bury')
      const id = await client.put('a')
      await client.reserve()
      await client.bury(id, 7)
      same((await client.peekBuried()).id, id)
      same(Number(await client.kick(10)), 1)
      same((await client.peekReady()).id, id)
      await end(id)
    },
    'kick of one job': async () => {
      await begin('kick')
      const id = await client.put('a', { delay: 1000 })
      same((await client.peekDelayed()).id, id)
      await client.kickJob(id)
      same((await client.reserve()).id, id)
      await end(id)
    },
    'touch': async () => {
      await begin('touch')
      const id = await client.put('a')
      await client.reserve()
      await client.touch(id)
      await end(id)
    },
    'peek and reserve by id': async () => {
      await begin('id')
      const id = await client.put('a')
      same((await client.peek(id)).payload.toString(), 'a')
      same((await client.reserveJob(id)).id, id)
      await end(id)
    },
    'nothing to reserve': () => fails(client.reserveWithTimeout(0), 'TIMED_OUT'),
    'no such job': () => fails(client.delete('999999'), 'NOT_FOUND'),
    'the last tube is not ignored': () => fails(client.ignore('default'), 'NOT_IGNORED'),
    'lists of tubes': async () => {
      await begin('tube')
      same(items(await client.listTubes())[0], 'default')
      same(items(await client.listTubes()).includes('tube'), true)
      same(items(await client.listTubesWatched()), ['default', 'tube'])
      same(await client.listTubeUsed(), 'tube')
    },
    'pause': async () => {
      await begin('pause')
      const id = await client.put('a')
      await client.pauseTube('pause', { delay: 1000 })
      await fails(client.reserveWithTimeout(0), 'TIMED_OUT')
      same(field(await client.statsTube('pause'), 'pause'), '1000')
      await end(id)
    },
    'statistics of a job': async () => {
      await begin('job')
      const id = await client.put('a', { priority: 3, delay: 100, ttr: 50 })
      const yaml = await client.statsJob(id)
      same(['id', 'tube', 'state', 'pri', 'delay', 'ttr'].map((name) => field(yaml, name)),
        [id, 'job', 'delayed', '3', '100', '50'])
      await end(id)
    },
    'statistics of the server': async () => {
      const yaml = (await client.stats()).toString()
      same(Number(field(yaml, 'current-connections')) >= 1, true)
      same(yaml.split('\n').filter((line, i, all) => line === '' && i < all.length - 1), [])
    },
  }
})
