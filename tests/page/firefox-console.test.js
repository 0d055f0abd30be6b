// The sandbox's console in Firefox: puppeteer-core drives it by WebDriver BiDi. FIREFOX as in firefox.test.js.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import test, { after, before } from 'node:test'
import puppeteer from 'puppeteer-core'
import { PATIENCE_MS } from '../harness/patience.cjs'
import { Sandbox } from '../wallets/node/sandbox.js'
import { AXE } from './browser.js'

const FIREFOX = [process.env.FIREFOX, '/usr/bin/firefox-esr', '/usr/bin/firefox'].find((file) => file && existsSync(file))
const inFirefox = { skip: FIREFOX ? false : 'there is no Firefox' }
const SECTIONS = ['sessions', 'new', 'receive', 'issuers', 'webhooks', 'keys']
const TABS = ['', '/answer', '/checks', '/events', '/webhooks', '/curl']

let sandbox, browser, page

before(async () => {
  if (!FIREFOX) return
  sandbox = await Sandbox.start()
  const patience = { timeout: PATIENCE_MS, protocolTimeout: PATIENCE_MS }
  browser = await puppeteer.launch({ browser: 'firefox', executablePath: FIREFOX, headless: true, ...patience })
  page = await browser.newPage()
  page.setDefaultTimeout(PATIENCE_MS)
  page.seen = []
  page.on('pageerror', (error) => page.seen.push(String(error)))
  page.on('console', (message) => message.type() === 'error' && page.seen.push(message.text()))
})

after(async () => {
  await browser?.close()
  await sandbox?.stop()
})

const text = (selector) => page.$eval(selector, (one) => one.textContent)

test('Firefox: a session is made, answered, and followed', inFirefox, async () => {
  await page.goto(`${sandbox.told.page_url}new`)
  await Promise.all([page.waitForNavigation(), page.click('.form + .row button')])
  const made = page.url()
  assert.match(made, /\/sessions\/ses_\w+$/)
  await page.waitForSelector('#live:not(.off)')
  // The wallet of another program answers, and the console updates without a reload.
  await sandbox.wallet(await text('code.link'), 'forge')
  await page.waitForFunction(() => document.querySelector('.title .pill').textContent === 'FAILED')
  await page.goto(`${made}/checks`)
  assert.match(await text('tr.failed'), /RFC 9901 7.1 step 2/)
  await page.goto(`${sandbox.told.page_url}new`)
  await Promise.all([page.waitForNavigation(), page.click('.form + .row button')])
  await Promise.all([page.waitForNavigation(), page.click('button[value=accept]')])
  assert.match(page.url(), /\/answer$/)
  assert.match(await text('main'), /Erika/)
  assert.deepEqual(page.seen, [])
})

test('Firefox: axe finds nothing in any section or tab, and a narrow window scrolls only vertically', inFirefox, async () => {
  const list = await (await fetch(`${sandbox.told.page_url}sessions`)).text()
  const [, id] = /row-(ses_\w+)/.exec(list)
  for (const below of [...SECTIONS, ...TABS.map((tab) => `sessions/${id}${tab}`)]) {
    await page.goto(sandbox.told.page_url + below)
    // axe bypasses the policy of the page, like an extension.
    await page.evaluate(readFileSync(AXE, 'utf8'))
    const found = await page.evaluate(async () => (await axe.run(document)).violations.map(({ id: rule }) => rule))
    assert.deepEqual(found, [], below)
    await page.setViewport({ width: 320, height: 640 })
    const isWider = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
    assert.equal(isWider, false, below)
    await page.setViewport({ width: 1280, height: 800 })
  }
})
