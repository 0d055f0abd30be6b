// The page for people in Firefox, which has no credential dialogue: puppeteer-core drives it by WebDriver BiDi.
// FIREFOX: the path of the browser. Without it all tests here are skipped.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import test, { after, afterEach, before } from 'node:test'
import puppeteer from 'puppeteer-core'
import { PATIENCE_MS } from '../harness/patience.cjs'
import { AXE, read } from './browser.js'
import { decline, World } from './world.js'

const FIREFOX = [process.env.FIREFOX, '/usr/bin/firefox-esr', '/usr/bin/firefox'].find((file) => file && existsSync(file))
const inFirefox = { skip: FIREFOX ? false : 'there is no Firefox' }
const LANGUAGES = {
  en: 'First name', de: 'Vorname', fr: 'Prénom', es: 'Nombre', it: 'Nome', nl: 'Voornaam', pl: 'Imię', pt: 'Nome próprio',
}
// Less than the minute by which the clocks of wallet and gateway may differ.
const CODE_TURNS_MS = 10_000

let world
const open = []

before(async () => {
  world = await World.start({}, Boolean(FIREFOX))
})

afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})

after(() => world.stop())

/** A page of a Firefox with a separate profile, and its records. */
async function firefox(locale = 'en') {
  const extraPrefsFirefox = { 'intl.accept_languages': locale }
  const patience = { timeout: PATIENCE_MS, protocolTimeout: PATIENCE_MS }
  const browser = await puppeteer.launch({
    browser: 'firefox', executablePath: FIREFOX, headless: true, extraPrefsFirefox, ...patience,
  })
  open.push(browser)
  const page = await browser.newPage()
  page.setDefaultTimeout(PATIENCE_MS)
  page.seen = { hosts: new Set(), complaints: [] }
  page.on('request', (request) => page.seen.hosts.add(new URL(request.url()).host))
  page.on('pageerror', (error) => page.seen.complaints.push(String(error)))
  page.on('console', (message) => message.type() === 'error' && page.seen.complaints.push(message.text()))
  return page
}

const visible = (page, selector) => page.$eval(selector, (one) => one.checkVisibility())

/** The page of a session, once its script has it. */
async function opened(session, locale) {
  const page = await firefox(locale)
  await page.goto(session.page_url)
  await page.waitForSelector('main:not([data-free])')
  return page
}

test('Firefox: a scanned code leads to the boolean and back to the shop', inFirefox, async () => {
  for (const gateway of [world.inline, world.newer]) {
    const session = await world.begin(gateway)
    const page = await opened(session)
    assert.equal(await page.evaluate(() => 'DigitalCredential' in globalThis), false)
    if (gateway === world.newer) assert.equal(await visible(page, '#choose'), false)
    const scan = async () => read(await (await page.$('#qr')).screenshot())
    const answered = await (gateway === world.inline ? world.answerDraft(await scan()) : world.answerShown(scan))
    assert.equal(answered.status, 200)
    await page.waitForFunction(() => location.search.startsWith('?page_code='))
    const { claims, verification_details: details } = await gateway.session(session.session_id)
    assert.deepEqual(claims, { pid: { given_name: 'Erika' } })
    assert.equal(details.page_code, new URL(page.url()).searchParams.get('page_code'))
    const hosts = [...page.seen.hosts].filter((host) => host && host !== new URL(world.back).host)
    assert.deepEqual([page.seen.complaints, hosts.length], [[], 1])
  }
})

test('Firefox: the link on this device, and the code that turns', inFirefox, async () => {
  const page = await opened(await world.begin(world.newer))
  const before = await page.$eval('a.button', (link) => link.href)
  world.newer.machine.jump(CODE_TURNS_MS)
  await page.waitForFunction((old) => document.querySelector('a.button').href !== old, {}, before)
  assert.equal((await world.answerShown(() => page.$eval('a.button', (link) => link.href))).status, 200)
  await page.waitForFunction(() => location.search.startsWith('?page_code='))
})

test('Firefox: another browser sees that the page is taken', inFirefox, async () => {
  const session = await world.begin(world.inline)
  const first = await opened(session)
  const second = await firefox()
  await second.goto(session.page_url)
  assert.match(await second.$eval('h1', (title) => title.textContent), /open in another browser/)
  await first.reload()
  assert.ok(await first.$('#qr'))
})

test('Firefox: a wallet that declines', inFirefox, async () => {
  const session = await world.begin(world.inline)
  const page = await opened(session)
  await decline(session.qr_code_url)
  await page.waitForSelector('main[data-state=declined]')
  assert.equal(await page.$eval('#back', (link) => link.getAttribute('href')), world.back)
})

test('Firefox: axe finds nothing in any language', inFirefox, async () => {
  for (const [locale, word] of Object.entries(LANGUAGES)) {
    const session = await world.begin(world.newer)
    const page = await opened(session, locale)
    assert.equal(await page.$eval('html', (html) => html.lang), locale)
    assert.equal(await page.$eval('.asked li', (item) => item.textContent), word)
    // axe bypasses the policy of the page, like an extension.
    await page.evaluate(readFileSync(AXE, 'utf8'))
    const found = await page.evaluate(async () => (await axe.run(document)).violations.map(({ id }) => id))
    assert.deepEqual(found, [], locale)
    await open.pop().close()
  }
})
