// The module for pages of one's own (bindings/browser) where something fails: against a server over a socket,
// with a browser's dialogue and event stream that do what each test says.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import test, { after, afterEach, before, beforeEach } from 'node:test'
import { start, verify } from '../../bindings/browser/idgate.js'
import { within } from '../harness/patience.cjs'

const OUTCOME = { adult: true }
const REQUESTS = { requests: [{ protocol: 'p', data: {} }] }

let server, url, streams, followed, begun, hasOutcome, posted

class Stream extends EventTarget {
  static CLOSED = 2
  readyState = 1

  constructor(address) {
    super()
    this.address = address
    streams.push(this)
    followed?.()
  }

  say(data) {
    this.onmessage({ data })
  }

  fail(readyState) {
    this.readyState = readyState
    this.onerror(new Event('error'))
  }

  close() {
    this.readyState = Stream.CLOSED
  }
}

before(async () => {
  server = createServer((request, response) => {
    const isStart = request.method === 'POST' && request.url === '/age'
    if (request.url.endsWith('/dc-api')) posted += 1
    response.statusCode = isStart || hasOutcome ? 200 : 500
    response.end(JSON.stringify(isStart ? begun : OUTCOME))
  })
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  url = `http://127.0.0.1:${server.address().port}/age`
})

beforeEach(() => {
  streams = []
  followed = undefined
  begun = { id: 'one' }
  hasOutcome = true
  posted = 0
  globalThis.EventSource = Stream
})

afterEach(() => dialogue())

after(() => {
  server.close()
  server.closeAllConnections()
})

/** A browser whose dialogue does this; without it, one that has none. */
function dialogue(get) {
  globalThis.DigitalCredential = get && { userAgentAllowsProtocol: () => true }
  Object.defineProperty(globalThis, 'navigator', { value: { credentials: { get } }, configurable: true })
  if (get) begun = { id: 'one', dc_api: REQUESTS }
}

/** `verify`, once it follows. */
async function following(options) {
  const outcome = verify(url, options)
  outcome.catch(() => {})
  if (streams.length === 0) await within('it follows', new Promise((resolve) => (followed = resolve)))
  return { outcome, stream: streams[0] }
}

test('a stream that the browser gives up has its outcome asked for, once', async () => {
  const { outcome, stream } = await following()
  assert.equal(stream.address, `${url}/one/events`)
  stream.fail(Stream.CLOSED)
  stream.fail(Stream.CLOSED)
  assert.deepEqual(await outcome, OUTCOME)
})

test('a stream and an outcome that both fail are a failure', async () => {
  hasOutcome = false
  const { outcome, stream } = await following()
  stream.fail(Stream.CLOSED)
  await assert.rejects(outcome, /answers 500/)
})

test('a stream that the browser connects again goes on', async (t) => {
  const { outcome, stream } = await following()
  const asked = t.mock.method(globalThis, 'fetch')
  stream.fail(0)
  // A request that follows the failure has begun by the next turn.
  await new Promise(setImmediate)
  assert.equal(asked.mock.callCount(), 0)
  stream.dispatchEvent(new Event('end'))
  assert.deepEqual(await outcome, OUTCOME)
})

test('a message that is no JSON is passed over', async () => {
  const statuses = []
  const fallback = (verification) => verification.addEventListener('status', ({ detail }) => statuses.push(detail))
  const { outcome, stream } = await following({ fallback })
  stream.say('<html>')
  stream.say('{"status":"PENDING"}')
  assert.deepEqual(statuses, [{ status: 'PENDING' }])
  stream.dispatchEvent(new Event('end'))
  assert.deepEqual(await outcome, OUTCOME)
})

test('a dialogue that gives nothing was closed, and says why if the browser did', async () => {
  const refused = new DOMException('no', 'NotAllowedError')
  for (const [get, why] of [[async () => null, null], [async () => { throw refused }, refused]]) {
    dialogue(get)
    const verification = await start(url)
    const told = []
    verification.addEventListener('cancelled', ({ detail }) => told.push(detail))
    assert.equal(await verification.ask(), undefined)
    assert.deepEqual(told, [why])
  }
  assert.equal(posted, 0)
})

test('what the dialogue gives is sent, and its outcome is the one', async () => {
  dialogue(async () => ({ protocol: 'p', data: {} }))
  assert.deepEqual(await verify(url), OUTCOME)
  assert.deepEqual([posted, streams.length], [1, 0])
})

test('who stops closes the dialogue, and nobody is told that the person did', async () => {
  let opened
  const isOpen = new Promise((resolve) => (opened = resolve))
  dialogue(({ signal }) => new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
    opened()
  }))
  const verification = await start(url)
  verification.addEventListener('cancelled', () => assert.fail('nobody cancelled'))
  const asked = verification.ask()
  await isOpen
  verification.stop()
  assert.equal(await asked, undefined)
  assert.equal(posted, 0)
})

test('a fallback that cannot show anything fails the verification, at once or later', async () => {
  const fallbacks = [
    () => { throw new Error('no code') },
    async () => {
      await new Promise(setImmediate)
      throw new Error('no code')
    },
  ]
  for (const fallback of fallbacks) {
    streams = []
    await assert.rejects(verify(url, { fallback }), /no code/)
    assert.equal(streams[0].readyState, Stream.CLOSED)
  }
})

test('a fallback that takes its time does not hold up the outcome', async () => {
  const { outcome, stream } = await following({ fallback: () => new Promise(() => {}) })
  stream.dispatchEvent(new Event('end'))
  assert.deepEqual(await outcome, OUTCOME)
})
