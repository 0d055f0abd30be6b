// Runs the age check of docs/integrate.md, word for word, at a gateway and with a third-party wallet.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test, { after, before } from 'node:test'
import { UNSIGNED, World } from '../page/world.js'
import { Authority } from '../wallets/node/authority.js'
import { resolve } from '../wallets/node/dcql-wallet.js'
import { Gateway } from '../wallets/node/gateway.js'

const DOCUMENT = new URL('../../docs/integrate.md', import.meta.url)
const SHOP = 'https://shop.example'
const PARTS = /^(.*)(\/\/ POST \/age\/\{id\}\/dc-api.*)(\/\/ GET \/age\/\{id\}.*)$/s
const AsyncFunction = (async () => {}).constructor

let gateway, world, parts

before(async () => {
  world = Object.assign(new World(), { authority: await Authority.create('https://dmv.example', 'Utopia') })
  const environment = { IDGATE_DC_API: 'unsigned' }
  gateway = await Gateway.start([world.authority], { test: true, environment, origins: [SHOP] })
  const [, section] = (await readFile(DOCUMENT, 'utf8')).split('## Example: age check')
  parts = PARTS.exec(/```js\n(.*?)```/s.exec(section)[1]).slice(1)
})

after(() => gateway?.stop())

/** `gateway` as the page describes it: JSON with the key, and a GET without a body. */
async function ask(path, body) {
  const headers = { Authorization: `Bearer ${gateway.apiKey}`, 'Content-Type': 'application/json' }
  const post = body && { method: 'POST', body: JSON.stringify(body) }
  return (await fetch(gateway.url + path, { headers, ...post })).json()
}

/** Runs a part of the recipe, and returns its answer to the page and the session that it made. */
async function run(part, given) {
  const told = []
  const names = { gateway: ask, answerWith: (answer) => told.push(answer), ...given }
  const made = part === 0 ? 'created' : 'undefined'
  const code = `${parts[part]}\nreturn ${made}`
  const created = await new AsyncFunction(...Object.keys(names), code)(...Object.values(names))
  assert.equal(told.length, 1)
  return { told: told[0], created }
}

test('the recipe leads from the button to the boolean', async () => {
  const { told: begun, created } = await run(0, { id: 'own' })
  assert.equal(begun.id, 'own')
  assert.ok(await resolve(begun.link), 'the link is a request')
  const sessionId = created.session_id
  assert.deepEqual((await run(2, { sessionId })).told, { adult: false }, 'before the answer')
  const credential = await world.behind(UNSIGNED)(begun.dc_api, SHOP)
  await run(1, { sessionId, credential })
  assert.deepEqual((await run(2, { sessionId })).told, { adult: true })
})

test('the recipe refuses an answer that a copy of the page received', async () => {
  const { told: begun, created } = await run(0, { id: 'own' })
  const sessionId = created.session_id
  const credential = await world.behind(UNSIGNED)(begun.dc_api, 'https://shop.example.evil.example')
  assert.equal((await run(1, { sessionId, credential })).told.error, 'invalid_presentation')
  assert.deepEqual((await run(2, { sessionId })).told, { adult: false })
})
