// The page for people in Chromium, with third-party wallets: every way from the shop to the boolean, and every failure.
// CHROMIUM: the path of the browser. Without it all tests here are skipped.

import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { eventually } from '../harness/patience.cjs'
import { browser, closeBrowsers, endChromium, inBrowser, scan, withoutDialogue, withWallet } from './browser.js'
import { decline, ISO_MDOC, PERSON, SIGNED, taken, UNSIGNED, World } from './world.js'

// A code changes after ten seconds, and is valid for five more. Both times are less than the minute by which the clocks of
// wallet and gateway may differ.
const [CODE_TURNS_MS, CODE_ENDS_MS] = [10_000, 15_500]

let world

before(async () => {
  world = await World.start()
})

afterEach(closeBrowsers)

after(async () => {
  await endChromium()
  await world.stop()
})

/** Follows the page back to the shop, and returns the code in the address. It is read in the page, because the driver may
 * still report the previous address. */
async function comesBack(page) {
  const code = () => location.pathname === '/back' && new URLSearchParams(location.search).get('page_code')
  return (await page.waitForFunction(code)).jsonValue()
}

/** Holds the page on its way back until the returned function is called, so that a test can look at its last state. */
async function held(page) {
  let leave
  const left = new Promise((leaves) => (leave = leaves))
  await page.route(`${world.back}**`, (route) => left.then(() => route.continue()))
  return leave
}

test('a scanned code leads to the boolean and back to the shop, and the code is the tenant’s', inBrowser, async () => {
  for (const gateway of [world.inline, world.newer]) {
    const session = await world.begin(gateway)
    const page = await world.scanned(session)
    // A second process reads the code in the picture.
    const read = () => scan(page)
    const leave = await held(page)
    const answered = await (gateway === world.inline ? world.answerDraft(await read()) : world.answerShown(read))
    assert.equal(answered.status, 200)
    await page.waitForSelector('main[data-state=done]')
    leave()
    const code = await comesBack(page)
    const { status, claims, verification_details: details } = await gateway.session(session.session_id)
    assert.deepEqual([status, claims.pid.given_name], ['VERIFIED', 'Erika'])
    assert.equal(details.page_code, code)
    await world.assertClean(page)
  }
})

test('an answer with a claim is found, and so is one that could not be read', inBrowser, async () => {
  const page = await world.opened(await world.begin(world.inline))
  await world.assertNoClaims(page)
  await page.route('**/shown', (route) => route.fulfill({ json: PERSON }))
  await page.evaluate(() => fetch('/shown').then((response) => response.json()))
  await assert.rejects(world.assertNoClaims(page), /a claim reached the page/)
  page.seen.unread = async () => [`${world.inline.url}/v/x/state`]
  await assert.rejects(world.assertNoClaims(page), /an answer was not seen/)
})

test('the link on this device is the same request', inBrowser, async () => {
  const session = await world.begin(world.newer)
  const page = await world.opened(session, { viewport: { width: 360, height: 740 } })
  const link = () => page.getAttribute('a.button', 'href')
  assert.match(await link(), /^openid4vp:/)
  assert.equal((await world.answerShown(link)).status, 200)
  await comesBack(page)
})

for (const [protocol, licence] of [
  [SIGNED, false],
  [UNSIGNED, false],
  [SIGNED, true],
  [UNSIGNED, true],
  [ISO_MDOC, true],
]) {
  const what = licence ? 'an age' : 'a name'
  test(`the browser’s own dialogue, ${protocol}: from the click to ${what}`, inBrowser, async (t) => {
    const session = await world.begin(world.newer, { licence })
    const page = await browser()
    t.diagnostic(await withWallet(page, world.behind(protocol), [protocol]))
    await page.goto(session.page_url)
    await page.click('#choose')
    const code = await comesBack(page)
    const { status, claims, verification_details: details } = await world.newer.session(session.session_id)
    assert.deepEqual(claims, licence ? { mdl: { age_over_18: true } } : { pid: { given_name: 'Erika' } })
    assert.deepEqual([status, details.origin, details.page_code], ['VERIFIED', world.newer.url, code])
    // The page learns twice that the session is over, and reloads once.
    assert.deepEqual(page.seen.brokenOff, [])
    await world.assertClean(page)
  })
}

test('the wallet chooses among the requests that the browser passes on', inBrowser, async () => {
  const session = await world.begin(world.newer, { licence: true })
  const page = await browser()
  let asked
  await withWallet(page, ({ requests }, origin) => {
    asked = requests.map(({ protocol }) => protocol)
    return world.behind(ISO_MDOC)({ requests }, origin)
  })
  await page.goto(session.page_url)
  await page.click('#choose')
  await comesBack(page)
  assert.deepEqual(asked, [SIGNED, UNSIGNED, ISO_MDOC])
})

test('a closed dialogue changes nothing, and the other ways stay', inBrowser, async () => {
  const session = await world.begin(world.newer)
  const page = await browser()
  await withWallet(page, () => undefined)
  await page.goto(session.page_url)
  await page.click('#choose')
  await page.waitForFunction(() => document.querySelector('#alert').textContent.startsWith('No wallet answered'))
  assert.equal((await world.newer.session(session.session_id)).status, 'PENDING')
  // The text is still there after the code has changed.
  const link = await page.getAttribute('a.button', 'href')
  world.newer.machine.jump(CODE_TURNS_MS)
  await page.waitForFunction((old) => document.querySelector('a.button').getAttribute('href') !== old, link)
  await page.click('.others summary')
  assert.match(await page.textContent('#alert'), /^No wallet answered/)
  assert.equal((await world.answerShown(() => scan(page, '.others .qr'))).status, 200)
  await comesBack(page)
})

/** Checks that the button of the dialogue is enabled, and that its status has this text. */
const says = (page, words) => page.waitForFunction((start) => !document.querySelector('#choose').disabled &&
  document.querySelector('#alert').textContent.startsWith(start), words)

test('after a failed answer the page does not say that nothing was sent, and the person can answer again', inBrowser, async () => {
  for (const fails of [
    (route) => route.abort(),
    (route) => route.fulfill({ status: 503, body: '' }),
    (route) => route.fulfill({ status: 400, json: { error: 'decryption_failed' } }),
  ]) {
    const session = await world.begin(world.newer)
    const page = await browser()
    await withWallet(page, world.behind(UNSIGNED), [UNSIGNED])
    await page.goto(session.page_url)
    let failed = 0
    await page.route('**/dc-api?*', (route) => {
      if (route.request().method() === 'GET' || failed > 0) return route.continue()
      failed += 1
      return fails(route)
    })
    await page.click('#choose')
    await says(page, 'Your wallet’s answer did not reach us. Choose again.')
    assert.equal((await world.newer.session(session.session_id)).status, 'PENDING')
    await page.click('#choose')
    await comesBack(page)
    assert.equal(failed, 1)
  }
})

test('a dialogue without a result counts as closed', inBrowser, async () => {
  const session = await world.begin(world.newer)
  const page = await browser()
  await page.addInitScript(() => {
    globalThis.DigitalCredential = { userAgentAllowsProtocol: () => true }
    navigator.credentials.get = async () => null
  })
  await page.goto(session.page_url)
  await page.click('#choose')
  await says(page, 'No wallet answered')
  await world.assertClean(page)
})

test('one dialogue is open at a time', inBrowser, async () => {
  const session = await world.begin(world.newer)
  const page = await browser()
  let close
  const closed = new Promise((resolve) => (close = resolve))
  await withWallet(page, () => closed)
  await page.goto(session.page_url)
  await page.click('#choose')
  await page.waitForFunction(() => document.querySelector('#choose').disabled)
  close(undefined)
  await says(page, 'No wallet answered')
  // The keyboard focus is still on the button.
  assert.equal(await page.evaluate(() => document.activeElement.id), 'choose')
})

test('a dialogue is offered later if its requests could not be fetched at first', inBrowser, async () => {
  const session = await world.begin(world.newer)
  const page = await browser()
  await withWallet(page, world.behind(UNSIGNED), [UNSIGNED])
  let failed = 0
  await page.route('**/dc-api?*', (route) => {
    failed += 1
    return failed === 1 ? route.abort() : route.continue()
  })
  await page.goto(session.page_url)
  await page.click('#choose')
  await comesBack(page)
  assert.ok(failed > 1)
})

test('a page belongs to the browser that took it even if the reply was lost, immediately and after a reload', inBrowser, async () => {
  for (const isLoadedAnew of [false, true]) {
    const session = await world.begin(world.inline)
    const page = await browser()
    const keys = []
    await page.route('**/take?*', async (route) => {
      keys.push(route.request().headers()['idgate-page-key'])
      if (keys.length > 1) return route.continue()
      // The gateway receives the request, and the browser does not receive the reply.
      await fetch(route.request().url(), { method: 'POST', headers: route.request().headers() })
      return route.abort()
    })
    await page.goto(session.page_url)
    if (isLoadedAnew) {
      await eventually('it takes the page', () => keys.length > 0)
      await page.reload()
    }
    await page.waitForSelector('main[data-state=open]:not([data-free])')
    assert.equal(await page.locator('#qr').count(), 1)
    assert.ok(keys.length > 1 && keys.every((key) => key === keys[0]), keys.join())
    assert.match(keys[0], /^[0-9A-Za-z]{22}$/)
    const [cookie] = await page.context().cookies()
    assert.equal(cookie.value, keys[0])
    assert.equal(await page.evaluate(() => sessionStorage.length), 0, 'the key is hidden from scripts again')
    await page.reload()
    assert.equal(await page.locator('#qr').count(), 1)
    await world.assertNoClaims(page)
  }
})

for (const styled of [true, false]) {
  const how = styled ? '' : ', without its style, too'
  test(`the page reserves the space of the dialogue, so that no button moves when it appears${how}`, inBrowser, async () => {
    const page = await browser()
    await withWallet(page, world.behind(UNSIGNED), [UNSIGNED])
    if (!styled) await page.route('**/page.css*', (route) => route.abort())
    const held = new Promise((resolve) => page.route('**/dc-api?*', resolve))
    await page.goto((await world.begin(world.newer)).page_url)
    const asked = await held
    const ways = ['#choose', '.others summary']
    const places = () => Promise.all(ways.map((way) => page.locator(way).boundingBox()))
    const before = await places()
    assert.ok(before.every((place) => place.height > 0))
    assert.equal(await page.locator('#choose').isVisible(), false)
    await asked.continue()
    await page.waitForSelector('#choose')
    assert.deepEqual(await places(), before)
    if (styled) await world.assertClean(page)
  })
}

test('no dialogue is shown in a browser without one, or without support for any of the protocols', inBrowser, async () => {
  const makes = [withoutDialogue, (page) => withWallet(page, () => undefined, []), (page) => withWallet(page, () => undefined, [ISO_MDOC])]
  for (const make of makes) {
    const page = await browser()
    await make(page)
    const asked = []
    page.on('request', (request) => /\/dc-api\?/.test(request.url()) && asked.push(request))
    // After it is taken, the page first fetches the requests for the dialogue, then the state.
    const later = page.waitForRequest(/\/state\?/)
    await page.goto((await world.begin(world.newer)).page_url)
    await taken(page)
    await later
    for (const request of asked) await request.response()
    assert.equal(await page.locator('#choose').isVisible(), false)
    assert.equal(await page.locator('#qr').isVisible(), true)
  }
})

test('a wrong document and a wrong proof look the same, a decline differs; each has a way back and no code', inBrowser, async () => {
  const forged = await world.issue({ issuer: world.stranger })
  const another = await world.issue({ vct: 'urn:example:library-card' })
  for (const [end, reason] of [
    [decline, 'wallet_error'],
    [(link) => world.answerDraft(link, { credential: forged }), 'issuer_signature_invalid'],
    [(link) => world.answerDraft(link, { credential: another }), 'type_mismatch'],
    [(link) => world.answerDraft(link, { changes: { nonce: 'of-another-session' } }), 'nonce_mismatch'],
  ]) {
    const session = await world.begin(world.inline)
    const page = await world.opened(session)
    await end(session.qr_code_url)
    const isDeclined = reason === 'wallet_error'
    await page.waitForSelector(`main[data-state=${isDeclined ? 'declined' : 'refused'}]`)
    assert.match(await page.textContent('h1'), isDeclined ? /Nothing was shared/ : /could not be confirmed/)
    assert.equal(await page.getAttribute('#back', 'href'), world.back)
    const { status, reason: said } = await world.inline.session(session.session_id)
    assert.deepEqual([status, said], ['FAILED', reason])
    assert.ok(!page.seen.texts.join('\n').includes(said), 'the page was told why')
    await world.assertClean(page)
  }
})

test('a wallet that declines in the browser’s dialogue, by its protocol, ends it', inBrowser, async () => {
  const session = await world.begin(world.newer)
  const page = await browser()
  await withWallet(page, () => ({ protocol: UNSIGNED, data: { error: 'access_denied' } }))
  await page.goto(session.page_url)
  await page.click('#choose')
  await page.waitForSelector('main[data-state=declined]')
  assert.equal((await world.newer.session(session.session_id)).wallet_error, 'access_denied')
})

test('without its script the page works up to the link, a refresh and the way back', inBrowser, async () => {
  const session = await world.begin(world.inline)
  const page = await browser({ javaScriptEnabled: false })
  await page.goto(session.page_url)
  assert.match(await page.getAttribute('a.button', 'href'), /^openid4vp:/)
  assert.equal(await page.locator('#choose').isVisible(), false)
  assert.equal((await world.answerDraft(await scan(page))).status, 200)
  await page.click('noscript a')
  await page.getByRole('button', { name: /Back to/ }).click()
  // This browser took the page after the answer, which proves nothing, so it gets no code.
  assert.equal(await page.getAttribute('#back', 'href'), world.back)
  await page.click('#back')
  await page.waitForURL(world.back)
})

test('without its script the page reloads itself', inBrowser, async () => {
  const session = await world.begin(world.inline)
  const page = await browser({ javaScriptEnabled: false })
  await page.goto(session.page_url)
  await decline(session.qr_code_url)
  await page.waitForSelector('main[data-state=declined]')
})

test('the page says that a wallet has the request, and can show the code for another', inBrowser, async () => {
  const session = await world.begin(world.newer)
  const page = await browser()
  await withoutDialogue(page)
  await page.goto(session.page_url)
  await taken(page)
  await world.requestShown(() => scan(page))
  await page.waitForSelector('main[data-state=fetched]')
  assert.match(await page.title(), /^Continue in your wallet/)
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H1', 'what changed is read first')
  await page.getByRole('link', { name: 'Show the code again' }).click()
  await page.waitForSelector('#qr')
  assert.equal((await world.answerShown(() => scan(page))).status, 200)
  await comesBack(page)
  await world.assertClean(page)
})

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? 'with' : 'without'
  test(`a page moves from a computer to a phone, ${how} its script, and only the phone continues`, inBrowser, async () => {
    const session = await world.begin(world.newer, { same_device: true, handover: true })
    const [computer, phone] = [await browser({ javaScriptEnabled }), await browser({ javaScriptEnabled })]
    for (const page of [computer, phone]) await withoutDialogue(page)
    /** A page without its script reloads after some seconds; this does not wait for that. */
    const look = (page) => (javaScriptEnabled ? undefined : page.goto(session.page_url))
    const stands = async (page, state) => {
      await look(page)
      await page.waitForSelector(`main[data-state=${state}]`)
    }
    await computer.goto(session.page_url)
    if (!javaScriptEnabled) await computer.getByRole('button', { name: 'Show the code' }).click()
    await computer.waitForSelector('#code[stroke-dasharray]')
    const opened = async () => {
      await look(computer)
      return (await phone.goto(await scan(computer))).status() === 200
    }
    await eventually('the code is opened while it is good', () => world.newer.still(opened))
    await phone.getByRole('button', { name: 'Continue on this phone' }).click()
    await stands(phone, 'open')
    await stands(computer, 'moved')
    await computer.getByRole('button', { name: 'Bring it back to this computer' }).click()
    await stands(computer, 'open')
    await stands(phone, 'none')
    await eventually('the next code is opened while it is good', () => world.newer.still(opened))
    await phone.getByRole('button', { name: 'Continue on this phone' }).click()
    await stands(computer, 'moved')
    const shown = async () => {
      await look(phone)
      return phone.getAttribute('a.button', 'href')
    }
    const { status, body } = await world.answerShown(shown)
    assert.equal(status, 200, body)
    await stands(phone, 'done')
    await stands(computer, 'finished')
    assert.equal(await computer.locator('main a').count(), 0, 'nothing leads on')
    assert.equal(await phone.getAttribute('#back', 'href'), world.back)
    assert.equal((await world.newer.session(session.session_id)).status, 'VERIFIED')
    // Without its script a page is left before its content can be read.
    for (const page of javaScriptEnabled ? [computer, phone] : []) await world.assertClean(page)
  })

  test(`“Cancel”, ${how} its script, ends the session and leads back without a code`, inBrowser, async () => {
    const session = await world.begin(world.inline)
    const page = await browser({ javaScriptEnabled })
    await page.goto(session.page_url)
    if (javaScriptEnabled) await taken(page)
    await page.getByRole('button', { name: 'Cancel' }).click()
    if (javaScriptEnabled) {
      await page.waitForURL(world.back)
    } else {
      assert.equal(await page.getAttribute('main', 'data-state'), 'cancelled')
      assert.equal(await page.getAttribute('#back', 'href'), world.back)
    }
    const { status, reason } = await world.inline.session(session.session_id)
    assert.deepEqual([status, reason], ['FAILED', 'cancelled'])
  })

  test(`“Cancel”, ${how} its script, comes too late for a settled session`, inBrowser, async () => {
    const session = await world.begin(world.inline)
    const page = await browser({ javaScriptEnabled })
    // The way back would leave the page before the test sees it. A 204 keeps the browser where it is.
    await page.route(`${world.back}**`, (route) => route.fulfill({ status: 204 }))
    // The script does not know about the answer before the person presses.
    await page.route('**/state?*', () => undefined)
    await page.goto(session.page_url)
    if (javaScriptEnabled) await taken(page)
    assert.equal((await world.answerDraft(session.qr_code_url)).status, 200)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.waitForSelector('main[data-state=done]')
    assert.equal((await world.inline.session(session.session_id)).status, 'VERIFIED')
  })
}

test('the page reports ten seconds without a network and recovers', inBrowser, async () => {
  const session = await world.begin(world.inline)
  const page = await world.opened(session)
  let failed = 0
  page.on('requestfailed', (request) => (failed += /\/state\?/.test(request.url()) ? 1 : 0))
  await page.context().setOffline(true)
  await page.waitForFunction(() => document.querySelector('#notice').textContent !== '')
  assert.equal(await page.textContent('#said'), 'Trying to reconnect')
  // It retries every second.
  await eventually('it asked ten times in vain', () => failed > 10)
  assert.equal((await world.answerDraft(session.qr_code_url)).status, 200)
  await page.context().setOffline(false)
  await comesBack(page)
})

test('the code changes on the screen, and a photograph of it soon expires', inBrowser, async () => {
  const session = await world.begin(world.newer)
  const page = await world.scanned(session)
  const photograph = await scan(page)
  world.newer.machine.jump(CODE_ENDS_MS)
  await page.waitForFunction((old) => document.querySelector('a.button').href !== old, photograph)
  const { searchParams } = new URL(photograph)
  assert.equal((await fetch(searchParams.get('request_uri'))).status, 404)
  assert.equal((await world.answerShown(() => scan(page))).status, 200)
  await comesBack(page)
})

test('a person who leaves and comes back sees the current state', inBrowser, async () => {
  const session = await world.begin(world.inline)
  const page = await world.opened(session)
  await page.goto(world.back)
  await page.goBack()
  await taken(page)
  assert.equal(await page.locator('#qr').isVisible(), true)
  await page.goto(world.back)
  await decline(session.qr_code_url)
  await page.goBack()
  await page.waitForSelector('main[data-state=declined]')
})

test('after the way back, the browser’s back button returns to the page before', inBrowser, async () => {
  const session = await world.begin(world.inline)
  const page = await browser()
  await page.goto(world.back)
  await page.goto(session.page_url)
  await taken(page)
  await world.answerDraft(session.qr_code_url)
  await comesBack(page)
  await page.goBack()
  assert.equal(page.url(), world.back)
})

test('the first paint stays within its budget for every request', inBrowser, async (t) => {
  const pid = (claims) => [{ id: 'pid', format: 'vc+sd-jwt', issuer_id: world.issuer.issuerId, claims }]
  const many = ['given_name', 'family_name', 'birthdate', 'nationalities', 'place_of_birth', 'sex', 'email', 'picture']
  for (const [gateway, credentials] of [
    [world.inline, pid(many.slice(0, 1))],
    [world.inline, pid(many)],
    [world.newer, pid(many)],
  ]) {
    const page = await browser()
    const loaded = []
    page.on('response', (response) => loaded.push(response))
    const session = await gateway.createSession({ credentials, redirect_uri: world.back })
    await page.goto(session.page_url, { waitUntil: 'load' })
    const bodies = await Promise.all(loaded.map(async (one) => (await one.body().catch(() => '')).length))
    const bytes = bodies.reduce((all, one) => all + one, 0)
    const { paint, shifted, scripts, nodes } = await page.evaluate(async () => {
      const painted = await new Promise((resolve) => {
        new PerformanceObserver((list) => resolve(list.getEntries())).observe({ type: 'paint', buffered: true })
      })
      // A layout shift is reported with its frame.
      await new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown)))
      const moved = new PerformanceObserver(() => {})
      moved.observe({ type: 'layout-shift', buffered: true })
      return {
        paint: painted[0].startTime,
        shifted: moved.takeRecords().reduce((all, { value }) => all + value, 0),
        scripts: document.scripts.length,
        nodes: document.querySelectorAll('*').length,
      }
    })
    const what = `${credentials[0].claims.length} claims: ${bytes} bytes, ${loaded.length} requests, ${paint} ms`
    assert.ok(bytes > 0 && bytes <= (gateway === world.newer ? 32 : 48) * 1024, what)
    t.diagnostic(what)
    // Page, style, script, icon, then the requests and answers of the script.
    assert.ok(loaded.length <= 7, what)
    assert.ok(paint > 0 && shifted < 0.1 && nodes < 200 && scripts === 1, `${what} ${shifted} ${nodes}`)
    // A browser with a dialogue for wallets shows the code among the other ways.
    if (!(await page.locator('#qr').isVisible())) await page.click('.others summary')
    await scan(page, '.qr:visible')
  }
})
