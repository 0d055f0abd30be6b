// The first hour, as README tells it: its commands, then a session that is answered on the sandbox's page in
// Chromium. IDGATE_BIN: the program that was built; without it `cargo` runs it, as README says.
// CHROMIUM: the browser's path; without one everything here is skipped.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import test, { after, before } from 'node:test'
import { PATIENCE_MS } from '../harness/patience.cjs'
import { BROWSER, browser, endChromium, fits, violations } from './browser.js'

const ROOT = new URL('../..', import.meta.url).pathname
// What README leaves to its defaults may be in use on the machine of a test.
const FREE = ['--listen', '127.0.0.1:0', '--page-listen', '127.0.0.1:0', '--https-listen', '127.0.0.1:0']

let temporary, commands
const started = []

before(async () => {
  temporary = await mkdtemp(path.join(os.tmpdir(), 'idgate-first-hour-'))
  const readme = await readFile(path.join(ROOT, 'README.md'), 'utf8')
  const [, section] = readme.split('## The first hour\n')
  commands = section.split('```sh\n')[1].split('```')[0].trim().split('\n')
})

after(async () => {
  await endChromium()
  started.forEach((child) => child.kill('SIGKILL'))
  await rm(temporary, { recursive: true, force: true })
})

/** Starts a command of README, and waits until it prints what is looked for. */
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

/** Runs what a page told people to paste into a shell. */
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

const inBrowser = { skip: BROWSER ? false : 'there is no Chromium' }

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
  const row = page.locator(`#${session.session_id}`)
  await row.getByRole('button', { name: 'Accept' }).click()
  await row.getByText('VERIFIED').first().waitFor()
  const text = await row.innerText()
  assert.match(text, /accept, Utopia Registry: 200/)
  assert.match(text, /"given_name":"Erika"/)
  const took = Date.now() - begun
  // A slow machine has as many minutes as its tests wait.
  assert.ok(took < PATIENCE_MS, `${took} ms`)
  await page.getByText('signature good').waitFor()
  assert.equal(await sandbox.stop(), 0)
})

test('every button of the page works without a mouse, and the page is fit for everybody', inBrowser, async () => {
  const sandbox = await run(commands[1], FREE, 'listening on')
  const [, url] = /page\s+(http:\S+)/.exec(sandbox.told)
  const page = await browser({ viewport: { width: 390, height: 800 } })
  await page.goto(url)
  const reasons = {
    Decline: 'wallet_error',
    Forge: 'issuer_signature_invalid',
    Expired: 'credential_expired',
    Revoked: 'credential_revoked',
    'Wrong nonce': 'device_auth_invalid',
  }
  for (const [name, reason] of Object.entries(reasons)) {
    await page.locator('select[name=ask]').selectOption('licence')
    await page.getByRole('button', { name: 'Make a session' }).press('Enter')
    const row = page.locator('ol.sessions > li').first()
    const button = row.getByRole('button', { name, exact: true })
    await button.waitFor()
    await button.press('Enter')
    await row.getByText(reason).first().waitFor()
  }
  await page.getByRole('button', { name: 'Make a session' }).click()
  await page.getByText('With your own wallet').first().click()
  assert.ok(await page.locator('svg.qr').first().isVisible())
  assert.ok(await fits(page), 'nothing stands outside of the window')
  assert.deepEqual(page.seen.complaints, [])
  assert.deepEqual([...page.seen.hosts].filter(Boolean), [new URL(url).host], 'only the sandbox is talked to')
  assert.deepEqual(await violations(page), [])
  const arcadia = page.getByRole('listitem').filter({ hasText: 'NTRXA-1' })
  await arcadia.getByRole('button', { name: 'Withdraw' }).click()
  await page.getByText('withdrawn').waitFor()
  await sandbox.stop()
})

test('the page follows a session while its code is open, and leaves what was opened and chosen', inBrowser, async () => {
  const sandbox = await run(commands[1], FREE, 'listening on')
  const [, url] = /page\s+(http:\S+)/.exec(sandbox.told)
  const page = await browser()
  await page.goto(url)
  const make = async () => {
    await page.getByRole('button', { name: 'Make a session' }).click()
    return page.locator('ol.sessions > li').first().getAttribute('id')
  }
  const scanned = await make()
  const other = await make()
  const summary = (id) => page.locator(`#${id} summary`)
  await summary(scanned).click()
  await summary(other).press('Enter')
  await page.locator(`#${other} select`).selectOption('arcadia')
  await summary(other).focus()
  // A phone answers.
  const answered = async (id, action) => {
    const link = await page.locator(`#${id} code.link`).textContent()
    const wallet = ['sandbox', 'wallet', link, '--do', action]
    const program = process.env.IDGATE_BIN ?? 'cargo'
    const words = process.env.IDGATE_BIN ? wallet : ['run', '--release', '--quiet', '--', ...wallet]
    const env = { ...process.env, TMPDIR: temporary }
    const child = spawn(program, words, { cwd: ROOT, env, stdio: 'ignore' })
    assert.equal(await new Promise((resolve) => child.on('exit', resolve)), 0)
  }
  await answered(scanned, 'accept')
  await page.locator(`#${scanned} .status`, { hasText: 'VERIFIED' }).waitFor()
  assert.ok(await page.locator(`#${other} svg.qr`).isVisible(), 'its code stays')
  assert.equal(await page.locator(`#${other} select`).inputValue(), 'arcadia')
  assert.ok(await summary(other).evaluate((own) => own === document.activeElement), 'the keyboard stays')
  // The page does not take away a field that is being filled. It has looked when it asks again.
  await page.locator(`#${other} select`).focus()
  const isLive = (one) => one.url().endsWith('/live')
  const told = page.waitForResponse(async (one) => isLive(one) && (await one.text()).includes('FAILED'))
  await answered(other, 'decline')
  await told
  await page.waitForRequest(isLive)
  assert.equal(await page.locator(`#${other} .status`).textContent(), 'PENDING')
  await page.locator(`#${other} select`).blur()
  await page.locator(`#${other} .status`, { hasText: 'FAILED' }).waitFor()
  assert.deepEqual(page.seen.complaints, [])
  await sandbox.stop()
})
