// The first hour of README: its commands, then a session that is answered on the sandbox's console in Chromium.
// IDGATE_BIN: the built program. Without it `cargo` runs the program, as README says.
// CHROMIUM: the path of the browser. Without it all tests here are skipped.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import test, { after, before } from 'node:test'
import { PATIENCE_MS } from '../harness/patience.cjs'
import { browser, endChromium, inBrowser } from './browser.js'

const ROOT = new URL('../..', import.meta.url).pathname
// The default ports of README may be in use on the machine of a test.
const FREE = ['--listen', '127.0.0.1:0', '--page-listen', '127.0.0.1:0', '--https-listen', '127.0.0.1:0']

let temporary, commands
const started = []

before(async () => {
  temporary = await mkdtemp(path.join(os.tmpdir(), 'idgate-first-hour-'))
  const readme = await readFile(path.join(ROOT, 'README.md'), 'utf8')
  const [, section] = readme.split('## Quick start\n')
  commands = section.split('```sh\n')[1].split('```')[0].trim().split('\n')
})

after(async () => {
  await endChromium()
  started.forEach((child) => child.kill('SIGKILL'))
  await rm(temporary, { recursive: true, force: true })
})

/** Starts a command of README, and waits for a text in its output. */
async function run(line, more, until) {
  const [program, ...words] = line.split(/\s+/)
  assert.equal(program, 'cargo')
  const own = words.slice(words.indexOf('--') + 1)
  const [file, args] = process.env.IDGATE_BIN ? [process.env.IDGATE_BIN, own] : ['cargo', words]
  const environment = Object.entries(process.env).filter(([name]) => !/^(IDGATE|OID4VP)_/.test(name))
  const env = { ...Object.fromEntries(environment), TMPDIR: temporary }
  const child = spawn(file, [...args, ...more], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'inherit'] })
  started.push(child)
  let told = ''
  const ended = new Promise((resolve) => child.on('exit', resolve))
  await new Promise((resolve, reject) => {
    child.stdout.on('data', (text) => {
      told += text
      if (told.includes(until)) resolve()
    })
    child.on('exit', (code) => reject(new Error(`${line} ended with ${code}: ${told}`)))
  })
  const stop = () => {
    child.kill('SIGINT')
    return ended
  }
  return { told, stop }
}

/** Runs a command that a page tells people to paste into a shell. */
function shell(command) {
  const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'pipe', 'inherit'] })
  let told = ''
  child.stdout.on('data', (text) => (told += text))
  return new Promise((resolve, reject) => {
    child.on('exit', (code) => (code === 0 ? resolve(told) : reject(new Error(`${command}: ${code}`))))
  })
}

/** The `curl` that the sandbox prints, its continued lines together. */
function pasted(told) {
  const from = told.slice(told.indexOf('curl '))
  return from.slice(0, from.indexOf('\n\n'))
}

test('README leads from nothing to an answered session in less than a minute', inBrowser, async () => {
  const begun = Date.now()
  assert.deepEqual(commands, ['cargo run --release -- demo', 'cargo run --release -- sandbox'])
  const demo = await run(commands[0], [], 'Still serving')
  for (const part of ['profile 1.0', 'profile haip', 'profile draft', 'VERIFIED', 'FAILED, digest_mismatch']) {
    assert.ok(demo.told.includes(part), `${part} in ${demo.told}`)
  }
  assert.equal(await demo.stop(), 0)
  const sandbox = await run(commands[1], FREE, 'listening on')
  const [, url] = /page\s+(http:\S+)/.exec(sandbox.told)
  const session = JSON.parse(await shell(pasted(sandbox.told)))
  const page = await browser()
  await page.goto(url)
  await page.locator(`#row-${session.session_id} a`).click()
  await page.getByRole('button', { name: 'Accept' }).click()
  await page.locator('.title').getByText('VERIFIED').waitFor()
  const text = await page.locator('main').innerText()
  assert.match(text, /accept, credentials of Utopia Registry/)
  assert.match(text, /"given_name": "Erika"/)
  const took = Date.now() - begun
  // On a slow machine the limit grows with the patience of the tests.
  assert.ok(took < PATIENCE_MS, `${took} ms`)
  await page.getByRole('link', { name: 'Webhooks' }).first().click()
  await page.getByText('signature good').waitFor()
  assert.equal(await sandbox.stop(), 0)
})

test('every button of the wallet works without a mouse, in a narrow window', inBrowser, async () => {
  const sandbox = await run(commands[1], FREE, 'listening on')
  const [, url] = /page\s+(http:\S+)/.exec(sandbox.told)
  const page = await browser({ viewport: { width: 390, height: 800 } })
  const reasons = {
    Decline: 'wallet_error',
    Forge: 'issuer_signature_invalid',
    Expired: 'credential_expired',
    Revoked: 'credential_revoked',
    'Wrong nonce': 'device_auth_invalid',
  }
  for (const [name, reason] of Object.entries(reasons)) {
    await make(page, url, 'licence')
    await page.getByRole('button', { name }).press('Enter')
    await page.locator('.detail').getByText(reason).first().waitFor()
    await page.locator('.title').getByText('FAILED').waitFor()
  }
  await make(page, url, 'licence')
  await page.getByText('Show the code for your own wallet').click()
  assert.ok(await page.locator('svg.qr').isVisible())
  await page.goto(`${url}issuers`)
  const arcadia = page.getByRole('row').filter({ hasText: 'NTRXA-1' })
  await arcadia.getByRole('button', { name: 'Withdraw' }).click()
  await arcadia.getByText('withdrawn').waitFor()
  assert.deepEqual(page.seen.complaints, [])
  await sandbox.stop()
})

/** Makes a session on the console, and returns its id. */
async function make(page, url, ask = 'identity') {
  await page.goto(`${url}new`)
  await page.locator('select[name=ask]').selectOption(ask)
  await page.getByRole('button', { name: 'Create the session' }).press('Enter')
  await page.waitForURL(/\/sessions\/ses_/)
  return new URL(page.url()).pathname.split('/')[2]
}

/** Answers with the wallet of another program. */
async function answered(link, action) {
  const wallet = ['sandbox', 'wallet', link, '--do', action]
  const program = process.env.IDGATE_BIN ?? 'cargo'
  const words = process.env.IDGATE_BIN ? wallet : ['run', '--release', '--quiet', '--', ...wallet]
  const env = { ...process.env, TMPDIR: temporary }
  const child = spawn(program, words, { cwd: ROOT, env, stdio: 'ignore' })
  assert.equal(await new Promise((resolve) => child.on('exit', resolve)), 0)
}

/** Waits until the console has polled the gateway once more, and has updated. */
async function looked(page) {
  const isLook = (one) => one.resourceType() === 'fetch'
  await page.waitForRequest(isLook)
  await page.waitForRequest(isLook)
}

test('the console follows a session while its code is open, and keeps focus and choices', inBrowser, async () => {
  const sandbox = await run(commands[1], FREE, 'listening on')
  const [, url] = /page\s+(http:\S+)/.exec(sandbox.told)
  const page = await browser()
  const scanned = await make(page, url)
  const link = await page.locator('code.link').textContent()
  const other = await make(page, url)
  const otherLink = await page.locator('code.link').textContent()
  const summary = page.locator('summary')
  await summary.press('Enter')
  await page.locator('select[name=from]').selectOption('arcadia')
  await summary.focus()
  await answered(link, 'accept')
  await page.locator(`#row-${scanned}`).getByText('VERIFIED').waitFor()
  assert.ok(await page.locator('svg.qr').isVisible(), 'its code stays')
  assert.equal(await page.locator('select[name=from]').inputValue(), 'arcadia')
  assert.ok(await summary.evaluate((own) => own === document.activeElement), 'the focus stays')
  // A session from a shell is at the top, and the focus stays in the list.
  const third = JSON.parse(await shell(pasted(sandbox.told))).session_id
  await page.locator('#list li').first().and(page.locator(`#row-${third}`)).waitFor()
  // The buttons stay while the focus is among them, and go when it leaves.
  await page.locator('select[name=from]').focus()
  await answered(otherLink, 'decline')
  await page.locator('.title').getByText('FAILED').waitFor()
  await looked(page)
  assert.ok(await page.locator('select[name=from]').evaluate((own) => own === document.activeElement))
  await page.locator('select[name=from]').blur()
  await page.locator('#acts').waitFor({ state: 'detached' })
  assert.equal(new URL(page.url()).pathname, `/sessions/${other}`)
  assert.deepEqual(page.seen.complaints, [])
  await sandbox.stop()
})

test('a code, a command and a key are copied, and the console says so', inBrowser, async () => {
  const sandbox = await run(commands[1], FREE, 'listening on')
  const [, url] = /page\s+(http:\S+)/.exec(sandbox.told)
  const page = await browser({ permissions: ['clipboard-read', 'clipboard-write'] })
  const copied = () => page.evaluate(() => navigator.clipboard.readText())
  await page.goto(url)
  await page.getByRole('button', { name: 'Copy' }).click()
  await page.getByRole('status').getByText('Copied').waitFor()
  const [, key] = /api_key\s+(\S+)/.exec(sandbox.told)
  assert.ok((await copied()).startsWith(`export API_KEY=${key}\ncurl -s `), 'with the key in its place')
  assert.ok(!(await page.content()).includes(key), 'the page itself does not show it')
  const id = await make(page, url)
  await page.locator('.facts button').click()
  await page.getByRole('status').getByText('Copied').waitFor()
  assert.equal(await copied(), id)
  await page.goto(`${url}keys`)
  const [, secret] = /signing_secret\s+(\S+)/.exec(sandbox.told)
  await page.locator('dd', { hasText: 'whsec_' }).getByRole('button', { name: 'Copy' }).click()
  await page.getByRole('status').getByText('Copied').waitFor()
  assert.equal(await copied(), secret)
  await page.getByRole('button', { name: 'Show api_key' }).click()
  await page.locator('#api_key').getByText(key).waitFor()
  await looked(page)
  assert.equal(await page.locator('#api_key code').textContent(), key, 'it stays until the page is left')
  assert.equal(new URL(page.url()).search, '')
  await sandbox.stop()
})

test('the console says when the sandbox ends and when it comes back', inBrowser, async () => {
  const sandbox = await run(commands[1], FREE, 'listening on')
  const [, url] = /page\s+(http:\S+)/.exec(sandbox.told)
  const page = await browser()
  await make(page, url)
  await page.getByRole('status').getByText('Live').waitFor()
  await page.context().setOffline(true)
  await page.getByRole('status').getByText('Connection lost. Trying again').waitFor()
  assert.ok(await page.getByRole('button', { name: 'Accept' }).isVisible(), 'the page stays')
  await page.context().setOffline(false)
  await page.getByRole('status').getByText('Live').waitFor()
  await sandbox.stop()
})

test('without a script a session is made, answered and read', inBrowser, async () => {
  const sandbox = await run(commands[1], FREE, 'listening on')
  const [, url] = /page\s+(http:\S+)/.exec(sandbox.told)
  const page = await browser({ javaScriptEnabled: false })
  await make(page, url)
  assert.equal(await page.getByRole('button', { name: 'Copy' }).count(), 0)
  assert.ok(await page.getByRole('link', { name: 'Look again' }).isVisible())
  await page.getByRole('button', { name: 'Accept' }).click()
  await page.waitForURL(/\/answer$/)
  assert.match(await page.locator('main').innerText(), /Erika/)
  await page.getByRole('link', { name: 'Checks' }).click()
  await page.getByText('passed.').waitFor()
  await sandbox.stop()
})
