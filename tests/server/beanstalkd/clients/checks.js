// What the clients in JavaScript share.
const assert = require('assert')

const PATIENCE_MS = 10000

exports.same = assert.deepStrictEqual

// Makes each check that `checks` has for a client, with a connection of its own.
exports.run = async (connect, checks) => {
  const port = Number(process.argv[2])
  for (const name of Object.keys(checks(null))) {
    const late = new Promise((resolve, reject) =>
      setTimeout(reject, PATIENCE_MS, new Error('no answer')).unref())
    try {
      await Promise.race([connect(port).then((client) => checks(client)[name]()), late])
      console.log(`ok ${name}`)
    } catch (error) {
      console.log(`failed ${name}: ${String(error.message).split('\n').join(' ')}`)
    }
  }
  process.exit(0)
}
