// Browsers for the page tests, what they show, and the wallet behind them.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { PATIENCE_MS } from '../harness/patience.cjs'

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** The path of the browser, if there is one. */
export const BROWSER = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
  .find((file) => file && existsSync(file))
/** The options of tests that need the browser. */
export const inBrowser = { skip: BROWSER ? false : 'there is no Chromium' }

export const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const SCANNER = fileURLToPath(new URL('scanner.js', import.meta.url))
const open = []
let launched

/** A page with a separate profile: a context of the one Chromium of a test file, because Chromium starts slowly. */
export async function browser(options = {}) {
  launched ??= chromium.launch({
    executablePath: BROWSER, headless: true, chromiumSandbox: false, args: FLAGS, timeout: PATIENCE_MS,
  })
  const context = await (await launched).newContext(options)
  context.setDefaultTimeout(PATIENCE_MS)
  open.push(context)
  const page = await context.newPage()
  page.seen = await watch(page)
  return page
}

/** Ends all browsers of a test. */
export async function closeBrowsers() {
  for (const context of open.splice(0)) await context.close()
}

/** Ends Chromium, after the last test of a file. */
export async function endChromium() {
  await closeBrowsers()
  await (await launched)?.close()
  launched = undefined
}

/** Records what a page loads, the complaints of its browser, and pages left before they arrived. */
async function watch(page) {
  const seen = { hosts: new Set(), bytes: 0, texts: [], complaints: [], brokenOff: [] }
  const reading = new Set()
  const [lost, answered, told] = [[], new Map(), new Map()]
  const count = (map, url) => map.set(url, (map.get(url) ?? 0) + 1)
  /** Waits until all answers are in `texts`. Returns the addresses of those that are not. */
  seen.unread = async () => {
    while (reading.size > 0) await Promise.all(reading)
    return lost.filter((url) => (told.get(url) ?? 0) < answered.get(url))
  }
  page.on('request', (request) => {
    seen.hosts.add(new URL(request.url()).host)
    seen.texts.push(request.url(), JSON.stringify(request.headers()))
  })
  const take = async (response) => {
    seen.texts.push(JSON.stringify(response.headers()))
    if (response.status() === 200) count(answered, response.url())
    const body = await response.body().catch(() => undefined)
    if (body) {
      seen.bytes += body.length
      seen.texts.push(body.toString('latin1'))
    } else if (response.status() === 200) lost.push(response.url())
  }
  page.on('response', (response) => {
    const taking = take(response).finally(() => reading.delete(taking))
    reading.add(taking)
  })
  // A browser discards answers when its page changes.
  await readBeforeScripts(page, (url, text) => {
    count(told, url)
    seen.texts.push(text)
  })
  page.on('console', (message) => {
    // Every browser logs the refusals that a test provokes.
    if (message.type() === 'error' && !/status of 40[034]|ERR_INTERNET_DISCONNECTED/.test(message.text())) {
      seen.complaints.push(message.text())
    }
  })
  page.on('pageerror', (error) => seen.complaints.push(String(error)))
  page.on('requestfailed', (request) => request.isNavigationRequest() && seen.brokenOff.push(request.url()))
  // Violations of the policy, even if the browser logs none.
  await page.exposeFunction('complain', (text) => seen.complaints.push(text))
  await page.addInitScript(() =>
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      globalThis.complain(`${violatedDirective} ${blockedURI}`)))
  return seen
}

/** Reports what scripts receive: an answer before they have it, and an event of a stream when it arrives. */
async function readBeforeScripts(page, told) {
  const session = await page.context().newCDPSession(page)
  // A stream has no end to wait for.
  const isStream = ({ name, value }) => /^content-type$/i.test(name) && value.startsWith('text/event-stream')
  session.on('Fetch.requestPaused', async ({ requestId, request, responseStatusCode: status, responseHeaders }) => {
    try {
      if (status === 200 && !responseHeaders.some(isStream)) {
        const { body, base64Encoded } = await session.send('Fetch.getResponseBody', { requestId })
        told(request.url, Buffer.from(body, base64Encoded ? 'base64' : 'utf8').toString('latin1'))
      }
      await session.send('Fetch.continueRequest', { requestId })
    } catch {
      // The page was left before its script had the answer.
    }
  })
  const patterns = ['Fetch', 'XHR'].map((resourceType) => ({ resourceType, requestStage: 'Response' }))
  await session.send('Fetch.enable', { patterns })
  await page.exposeFunction('tell', told)
  await page.addInitScript(() => {
    globalThis.EventSource = class extends EventSource {
      addEventListener(type, ...rest) {
        super.addEventListener(type, ({ data }) => globalThis.tell(this.url, String(data)))
        super.addEventListener(type, ...rest)
      }
    }
  })
}

/**
 * All requests and answers of a page as one text, once all are read. Answers that its browser discarded are fetched
 * again if they are the same for every browser (`isShared`). No other answer of `isOwn` may be missing.
 */
export async function everything(page, isShared, isOwn = () => true) {
  const lost = (await page.seen.unread()).filter(isOwn)
  for (const url of lost.filter(isShared)) page.seen.texts.push(await (await fetch(url)).text())
  assert.deepEqual(lost.filter((url) => !isShared(url)), [], 'an answer was not seen')
  return page.seen.texts.join('\n')
}

/** The code on the screen, as a camera reads it. */
export async function scan(page, selector = '#qr') {
  return read(await page.locator(selector).screenshot())
}

/** The code in a picture, read by a second process. */
export function read(png) {
  return new Promise((resolve, reject) => {
    const scanner = execFile(process.execPath, [SCANNER], (error, text) => (error ? reject(error) : resolve(text)))
    scanner.stdin.end(png)
  })
}

const SET_WALLET = 'DigitalCredentials.setVirtualWalletBehavior'

/**
 * Puts a wallet behind the browser, which passes these protocols on to it (by default all that it supports).
 * `answer` receives the page's request and origin, and returns `protocol` and `data`, or nothing if it declines. The
 * dialogue is the browser's own, with a virtual wallet that returns the result of `answer`. In a build without one
 * `navigator.credentials.get` is replaced. Returns which of the two was used.
 */
export async function withWallet(page, answer, protocols) {
  const session = await page.context().newCDPSession(page)
  const isOwn = await session.send(SET_WALLET, { action: 'clear' }).then(() => true, () => false)
  await page.exposeFunction('askWallet', async (digital, origin) => {
    const answered = await answer(JSON.parse(digital), origin)
    const { protocol, data: response } = answered ?? {}
    if (isOwn) await session.send(SET_WALLET, answered ? { action: 'respond', protocol, response } : { action: 'decline' })
    return JSON.stringify(answered ?? null)
  })
  await page.addInitScript(([own, passed]) => {
    if (!own) globalThis.DigitalCredential = class {}
    const known = own ? DigitalCredential.userAgentAllowsProtocol.bind(DigitalCredential) : () => true
    DigitalCredential.userAgentAllowsProtocol = (one) => (passed ? passed.includes(one) : true) && known(one)
    const get = navigator.credentials.get.bind(navigator.credentials)
    navigator.credentials.get = async (options) => {
      const text = await globalThis.askWallet(JSON.stringify(options.digital), location.origin)
      if (own) return get(options)
      if (text === 'null') throw new DOMException('declined', 'NotAllowedError')
      return JSON.parse(text)
    }
  }, [isOwn, protocols])
  return isOwn ? 'the browser’s own virtual wallet' : 'navigator.credentials.get replaced'
}

/** Removes the credential dialogue from the page's browser. */
export function withoutDialogue(page) {
  return page.addInitScript(() => {
    delete globalThis.DigitalCredential
  })
}

/**
 * The findings of axe-core, as text. axe bypasses the policy of the page, like an extension, so the page is
 * reloaded; `again` restores its state.
 */
export async function violations(page, again = () => {}) {
  const session = await page.context().newCDPSession(page)
  await session.send('Page.setBypassCSP', { enabled: true })
  await page.reload().catch((error) => {
    // A finished page leads its person back by itself, once, which aborts a reload at the same moment.
    if (!/ERR_ABORTED/.test(error.message)) throw error
    return page.reload()
  })
  await again()
  await page.addScriptTag({ path: AXE })
  const { violations: found } = await page.evaluate(() => axe.run(document))
  await session.send('Page.setBypassCSP', { enabled: false })
  await session.detach()
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}

/** Whether everything is inside the width of the window, and every text inside its box. */
export function fits(page) {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    const isCut = ({ scrollWidth: inner, clientWidth: outer }) => outer > 0 && inner > outer + 1
    return scrollWidth <= clientWidth && ![...document.querySelectorAll('main *')].some(isCut)
  })
}
