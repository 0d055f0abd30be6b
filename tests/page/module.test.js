// Failures in the module for your own pages (bindings/browser): against a server over a socket, with a dialogue and an event
// stream that each test controls.

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

/** A browser whose dialogue does this, or one without a dialogue. */
function dialogue(get) {
  globalThis.DigitalCredential = get && { userAgentAllowsProtocol: () => true }
  Object.defineProperty(globalThis, 'navigator', { value: { credentials: { get } }, configurable: true })
  if (get) begun = { id: 'one', dc_api: REQUESTS }
}

/** `verify`, once it follows the session. */
async function following(options) {
  const outcome = verify(url, options)
  outcome.catch(() => {})
  if (streams.length === 0) await within('it follows', new Promise((resolve) => (followed = resolve)))
  return { outcome, stream: streams[0] }
}

test('if the browser gives up the stream, the outcome is requested once', async () => {
  const { outcome, stream } = await following()
  assert.equal(stream.address, `${url}/one/events`)
  stream.fail(Stream.CLOSED)
  stream.fail(Stream.CLOSED)
  assert.deepEqual(await outcome, OUTCOME)
})

test('if both the stream and the outcome fail, the verification fails', async () => {
  hasOutcome = false
  const { outcome, stream } = await following()
  stream.fail(Stream.CLOSED)
  await assert.rejects(outcome, /answers 500/)
})

test('a stream that the browser reconnects continues', async (t) => {
  const { outcome, stream } = await following()
  const asked = t.mock.method(globalThis, 'fetch')
  stream.fail(0)
  // A request after the failure would have begun by the next turn.
  await new Promise(setImmediate)
  assert.equal(asked.mock.callCount(), 0)
  stream.dispatchEvent(new Event('end'))
  assert.deepEqual(await outcome, OUTCOME)
})

test('a message that is not JSON is ignored', async () => {
  const statuses = []
  const fallback = (verification) => verification.addEventListener('status', ({ detail }) => statuses.push(detail))
  const { outcome, stream } = await following({ fallback })
  stream.say('<html>')
  stream.say('{"status":"PENDING"}')
  assert.deepEqual(statuses, [{ status: 'PENDING' }])
  stream.dispatchEvent(new Event('end'))
  assert.deepEqual(await outcome, OUTCOME)
})

test('a dialogue without a result counts as closed, with the reason from the browser', async () => {
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

test('the result of the dialogue is sent, and its outcome counts', async () => {
  dialogue(async () => ({ protocol: 'p', data: {} }))
  assert.deepEqual(await verify(url), OUTCOME)
  assert.deepEqual([posted, streams.length], [1, 0])
})

test('stop closes the dialogue, and does not report that the person closed it', async () => {
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

test('a fallback that fails, immediately or later, fails the verification', async () => {
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

test('a slow fallback does not delay the outcome', async () => {
  const { outcome, stream } = await following({ fallback: () => new Promise(() => {}) })
  stream.dispatchEvent(new Event('end'))
  assert.deepEqual(await outcome, OUTCOME)
})
