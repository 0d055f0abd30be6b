// Accessibility of every state of the sandbox's console in Chromium, light and dark: enlarged, in a narrow window, and for
// screen readers. Saves pictures of each state in target/pictures. CHROMIUM as in flows.test.js.

import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import test, { after, afterEach, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Sandbox } from '../wallets/node/sandbox.js'
import { browser, closeBrowsers, endChromium, inBrowser, violations } from './browser.js'

const PICTURES = fileURLToPath(new URL('../../target/pictures/', import.meta.url))
const SIZES = [[1280, 800], [390, 844]]
const IDENTITY = { format: 'dc+sd-jwt', issuer_id: 'https://issuer.example', claims: ['given_name', 'family_name'] }
const LICENCE = { format: 'mso_mdoc', issuer_id: 'https://iaca.example', claims: ['age_over_18'] }

let fresh, sandbox, tunnel
const ids = {}

before(async () => {
  if (inBrowser.skip) return
  fresh = await Sandbox.start()
  sandbox = await Sandbox.start()
  tunnel = await Sandbox.start('--base-url', 'https://abc.tunnel.example')
  // A shell makes sessions, and the buttons answer them.
  ids.expiring = await made([IDENTITY], 'draft')
  ids.created = await made([LICENCE], 'haip', { redirect_uri: 'http://127.0.0.1:1/done' })
  ids.declined = await made([IDENTITY], '1.0')
  await press('/answer', { session: ids.declined, do: 'decline' })
  ids.refused = await made([IDENTITY], '1.0')
  await press('/answer', { session: ids.refused, do: 'forge' })
  ids.verified = await made([LICENCE], 'haip', { redirect_uri: 'http://127.0.0.1:1/done' })
  await press('/answer', { session: ids.verified, do: 'accept' })
  ids.open = await made([IDENTITY], '1.0', { redirect_uri: 'http://127.0.0.1:1/done' })
  await press('/providers', { provider: 'arcadia', listed: 'false' })
  await press('/offers', { type: 'mdl', tx_code: 'true' }, tunnel)
  // An endpoint whose host is held for review, and a notification with a wrong signature.
  await tunnel.tenant('PUT', '/v1/webhook-endpoint', { url: 'http://127.0.0.3:1/hook' })
  const forged = { 'webhook-id': 'whf_forged', 'webhook-timestamp': '1', 'webhook-signature': 'v1,AAAA' }
  await fetch(`${tunnel.told.page_url}webhooks`, { method: 'POST', headers: forged, body: '{"sessionId":"ses_x"}' })
})

afterEach(closeBrowsers)

after(async () => {
  await endChromium()
  for (const one of [fresh, sandbox, tunnel]) await one?.stop()
})

async function made(credentials, profile, more = {}) {
  const session = await sandbox.tenant('POST', '/v1/sessions', { credentials, profile, ...more })
  assert.ok(session.session_id, JSON.stringify(session))
  return session.session_id
}

/** Presses a button of the console without a browser. */
async function press(below, fields, at = sandbox) {
  const url = at.told.page_url.replace(/\/$/, below)
  const pressed = await fetch(url, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' })
  assert.equal(pressed.status, 303, `${below} ${await pressed.text()}`)
}

/** The sandbox and the address of each state, with a text in it. */
const STATES = {
  empty: [() => fresh, () => '', 'No sessions yet'],
  'webhooks-empty': [() => fresh, () => 'webhooks', 'Nothing has arrived yet'],
  sessions: [() => sandbox, () => 'sessions', 'Choose a session'],
  request: [() => sandbox, () => `sessions/${ids.open}`, 'What the wallet reads (DCQL)'],
  answer: [() => sandbox, () => `sessions/${ids.verified}/answer`, 'What the wallet sent'],
  'answer-open': [() => sandbox, () => `sessions/${ids.open}/answer`, 'No wallet has answered yet'],
  checks: [() => sandbox, () => `sessions/${ids.refused}/checks`, 'A trusted key signed it'],
  'checks-verified': [() => sandbox, () => `sessions/${ids.verified}/checks`, 'each of'],
  events: [() => sandbox, () => `sessions/${ids.refused}/events`, 'Follow it yourself'],
  hooks: [() => sandbox, () => `sessions/${ids.refused}/webhooks`, 'signature good'],
  curl: [() => sandbox, () => `sessions/${ids.refused}/curl`, 'Create the same session again'],
  gone: [() => sandbox, () => 'sessions/ses_none', 'There is no such session'],
  new: [() => sandbox, () => 'new', 'Create the session'],
  receive: [() => tunnel, () => 'receive', 'Code to type in your wallet'],
  'receive-off': [() => sandbox, () => 'receive', 'A phone cannot reach'],
  issuers: [() => sandbox, () => 'issuers', 'withdrawn'],
  webhooks: [() => sandbox, () => 'webhooks', 'signature good'],
  'webhooks-held': [() => tunnel, () => 'webhooks', 'not verified'],
  keys: [() => sandbox, () => 'keys', 'Set up a shell'],
}

async function opened(state, options) {
  const [at, below, text] = STATES[state]
  const page = await browser(options)
  await page.goto(at().told.page_url + below())
  await page.locator('main').getByText(text).first().waitFor()
  return page
}

/** Whether the window scrolls only vertically. Boxes that scroll, for example code, may be wider. */
function fits(page) {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    const scrolls = (one) => one && (['auto', 'scroll', 'hidden'].includes(getComputedStyle(one).overflowX) || scrolls(one.parentElement))
    const isOutside = (one) => one.getBoundingClientRect().right > clientWidth + 1 && !scrolls(one)
    const outside = [...document.querySelectorAll('body *')].filter(isOutside)
    return [...(scrollWidth > clientWidth ? [`${scrollWidth} in ${clientWidth}`] : []), ...outside.map((one) => one.outerHTML.slice(0, 120))]
  })
}

async function pictures(page, state) {
  mkdirSync(PICTURES, { recursive: true })
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme })
    for (const [width, height] of SIZES) {
      await page.setViewportSize({ width, height })
      await page.screenshot({ path: path.join(PICTURES, `console-${state}-${width}-${colorScheme}.png`), fullPage: true })
    }
  }
  await page.emulateMedia({ colorScheme: 'light' })
}

/** The connection is lost. */
async function lost(page) {
  await page.context().setOffline(true)
  await page.getByRole('status').getByText('Connection lost. Trying again').waitFor()
}

test('offline: the page stays and says so, without a violation', inBrowser, async () => {
  const page = await opened('request')
  await page.getByRole('status').getByText('Live').waitFor()
  await lost(page)
  await pictures(page, 'offline')
  for (const colorScheme of ['light', 'dark']) {
    await page.context().setOffline(false)
    await page.emulateMedia({ colorScheme })
    assert.deepEqual(await violations(page, () => lost(page)), [], colorScheme)
  }
})

test('nothing moves if the person prefers reduced motion', inBrowser, async () => {
  const moving = (page) => page.evaluate(() => {
    const row = document.querySelector('#list li')
    row.classList.add('fresh')
    return getComputedStyle(row).animationName
  })
  const calm = await opened('sessions', { reducedMotion: 'reduce' })
  assert.equal(await moving(calm), 'none')
  assert.equal(await moving(await opened('sessions', { reducedMotion: 'no-preference' })), 'fresh')
})

for (const state of Object.keys(STATES)) {
  test(`${state}: no violation, light or dark, at 320 pixels and with text twice as large`, inBrowser, async () => {
    const page = await opened(state)
    await pictures(page, state)
    await page.setViewportSize({ width: 320, height: 640 })
    assert.deepEqual(await fits(page), [], '320')
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.evaluate(() => {
      document.documentElement.style.fontSize = '200%'
    })
    assert.deepEqual(await fits(page), [], 'text twice as large')
    assert.deepEqual(await violations(page), [])
    await page.emulateMedia({ colorScheme: 'dark' })
    assert.deepEqual(await violations(page), [], 'dark')
    await page.setViewportSize({ width: 320, height: 640 })
    assert.deepEqual(await violations(page), [], '320')
    assert.deepEqual(page.seen.complaints, [])
    assert.deepEqual([...page.seen.hosts].filter(Boolean), [new URL(page.url()).host], 'only the sandbox is talked to')
  })
}

test('after a live update each button approves the host that it names', inBrowser, async () => {
  const page = await browser()
  await page.goto(`${tunnel.told.page_url}webhooks`)
  await page.waitForSelector('form[action="/hosts"] input[value="127.0.0.3"]', { state: 'attached' })
  // The box of the host now has another host.
  await tunnel.tenant('PUT', '/v1/webhook-endpoint', { url: 'http://127.0.0.2:1/hook' })
  await page.getByText('Approve 127.0.0.2', { exact: true }).waitFor()
  const boxes = await page.$$eval('form[action="/hosts"]', (forms) =>
    forms.map((form) => [form.querySelector('input').value, form.querySelector('button').textContent]))
  assert.ok(boxes.some(([host]) => host === '127.0.0.2'))
  for (const [host, button] of boxes) assert.equal(button, `Approve ${host}`)
})
