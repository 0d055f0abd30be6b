// Browsers and wallets for the tests of the page.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import jsqr from 'jsqr'
import { chromium } from 'playwright-core'
import { PNG } from 'pngjs'

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** The browser's path, if there is one. */
export const BROWSER = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
  .find((file) => file && existsSync(file))

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const open = []

/** A browser with a profile of its own. */
export async function browser(options = {}) {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'idgate-page-'))
  const context = await chromium.launchPersistentContext(directory, {
    executablePath: BROWSER, headless: true, chromiumSandbox: false, args: FLAGS, ...options,
  })
  context.setDefaultTimeout(20_000)
  open.push({ context, directory })
  const page = context.pages()[0] ?? (await context.newPage())
  page.seen = watch(page)
  return page
}

/** Ends all browsers of a test. */
export async function closeBrowsers() {
  for (const { context, directory } of open.splice(0)) {
    await context.close()
    await rm(directory, { recursive: true, force: true })
  }
}

/** Everything that a page loads, and what its browser complains about. */
function watch(page) {
  const seen = { hosts: new Set(), bytes: 0, texts: [], complaints: [] }
  page.on('request', (request) => seen.hosts.add(new URL(request.url()).host))
  page.on('response', async (response) => {
    const body = await response.body().catch(() => Buffer.alloc(0))
    seen.bytes += body.length
    seen.texts.push(body.toString('latin1'))
  })
  page.on('console', (message) => {
    // Refusals that a test provokes are in the log of every browser.
    if (message.type() === 'error' && !/status of 40[34]|ERR_INTERNET_DISCONNECTED/.test(message.text())) {
      seen.complaints.push(message.text())
    }
  })
  page.on('pageerror', (error) => seen.complaints.push(String(error)))
  return seen
}

/** What a camera reads off the screen. */
export async function scan(page) {
  const png = PNG.sync.read(await page.locator('#qr').screenshot())
  const found = jsqr(new Uint8ClampedArray(png.data), png.width, png.height)
  assert.ok(found, 'the code cannot be read')
  return found.data
}

/** What axe-core finds, in words. axe runs past the policy of the page, as an extension does. */
export async function violations(page) {
  const session = await page.context().newCDPSession(page)
  await session.send('Page.setBypassCSP', { enabled: true })
  await page.reload()
  await page.addScriptTag({ path: AXE })
  const { violations: found } = await page.evaluate(() => axe.run(document))
  await session.send('Page.setBypassCSP', { enabled: false })
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}

/** Whether nothing stands outside the width of the window. */
export function fits(page) {
  return page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth)
}
