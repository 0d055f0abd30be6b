// Binding of the page in Chromium: to one browser, and to the gateway's origin. CHROMIUM as in flows.test.js.

import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { browser, closeBrowsers, endChromium, inBrowser, withWallet } from './browser.js'
import { elsewhere, ISO_MDOC, SIGNED, taken, UNSIGNED, World } from './world.js'

let world

before(async () => {
  world = await World.start()
})

afterEach(closeBrowsers)

after(async () => {
  await endChromium()
  await world.stop()
})

test('another browser sees that the page is taken, and the first one keeps it', inBrowser, async () => {
  const session = await world.begin(world.inline)
  const first = await world.opened(session)
  const second = await browser()
  await second.goto(session.page_url)
  assert.match(await second.textContent('h1'), /open in another browser/)
  assert.equal(await second.locator('#qr, a[data-scheme], form, .brand').count(), 0)
  await first.reload()
  assert.equal(await first.locator('#qr').count(), 1)
  // Both had opened it before one acted.
  const later = await world.begin(world.inline)
  const [one, two] = [await browser(), await browser({ javaScriptEnabled: false })]
  await two.goto(later.page_url)
  assert.equal(await two.locator('#qr').count(), 1)
  await one.goto(later.page_url)
  await taken(one)
  await two.reload()
  assert.match(await two.textContent('h1'), /open in another browser/)
})

test('if two browsers open it together, one gets it and the other says that it is taken', inBrowser, async () => {
  const session = await world.begin(world.newer)
  const pages = [await browser(), await browser()]
  await Promise.all(pages.map((page) => page.goto(session.page_url)))
  // Its script says so without a reload.
  const other = await Promise.any(pages.map((page) => page.waitForSelector('main[data-state=none]').then(() => page)))
  const [owner] = pages.filter((page) => page !== other)
  await taken(owner)
  await Promise.all(pages.map((page) => page.reload()))
  assert.equal(await owner.getAttribute('main', 'data-state'), 'open')
  assert.match(await other.textContent('h1'), /open in another browser/)
})

test('a stolen address gives no claims and no code, before and after the answer', inBrowser, async () => {
  const session = await world.begin(world.newer)
  const page = await world.opened(session)
  const thief = await browser()
  const look = async () => {
    await thief.goto(session.page_url)
    assert.match(await thief.textContent('h1'), /open in another browser/)
    for (const below of ['state', 'open', 'dc-api', 'logo']) await thief.goto(`${session.page_url}/${below}`)
  }
  await look()
  assert.equal((await world.answerShown(() => page.getAttribute('a.button', 'href'))).status, 200)
  await page.waitForURL(/page_code=/)
  const code = new URL(page.url()).searchParams.get('page_code')
  await look()
  const seen = thief.seen.texts.join('\n')
  assert.ok(!seen.includes(code) && !seen.includes('page_code'), 'the thief has the code')
  assert.ok(!seen.includes('client_id') && !seen.includes(world.back), 'the thief has the request')
  await world.assertNoClaims(thief)
  await world.assertNoClaims(page)
  const { claims, verification_details: details } = await world.newer.session(session.session_id)
  assert.deepEqual([claims.pid.given_name, details.page_code], ['Erika', code])
})

test('a thief of the address who is first gets no claims, and the person sees that the page is taken', inBrowser, async () => {
  const session = await world.begin(world.inline)
  const thief = await world.opened(session)
  const person = await browser()
  await person.goto(session.page_url)
  assert.match(await person.textContent('h1'), /open in another browser/)
  assert.equal((await world.answerDraft(session.qr_code_url)).status, 200)
  await thief.waitForURL(/page_code=/)
  await world.assertNoClaims(thief)
})

test('neither the address of the page nor its cookie contains the session id', inBrowser, async () => {
  const session = await world.begin(world.newer)
  const id = session.session_id.replace('ses_', '')
  assert.ok(!session.page_url.includes(id))
  const page = await world.opened(session)
  const cookies = await page.context().cookies()
  assert.deepEqual(cookies.map(({ httpOnly, secure, sameSite, path }) => [httpOnly, secure, sameSite, path]),
    [[true, true, 'Lax', '/']])
  assert.ok(cookies[0].name.startsWith('__Host-') && !JSON.stringify(cookies).includes(id))
  assert.ok(!page.url().includes(id))
})

test('another origin cannot frame the page, nor read it with the person’s cookie', inBrowser, async () => {
  const session = await world.begin(world.newer)
  const page = await world.opened(session)
  const evil = await elsewhere(() => `<!doctype html><title>Elsewhere</title><iframe src="${session.page_url}"></iframe>`)
  try {
    const context = page.context()
    const other = await context.newPage()
    await other.goto(evil.url)
    const frame = other.frames()[1]
    await frame.waitForLoadState().catch(() => {})
    assert.equal(await frame.locator('main').count().catch(() => 0), 0, 'it is framed')
    const got = await other.evaluate(async (url) => {
      const read = async (below, options) => {
        const done = fetch(url + below, { credentials: 'include', ...options })
        return done.then((response) => response.text(), (error) => error.name)
      }
      return [await read(''), await read('/state'), await read('/dc-api'), await read('/take', { method: 'POST' })]
    }, session.page_url)
    assert.deepEqual(got, ['TypeError', 'TypeError', 'TypeError', 'TypeError'])
    // A form from there may be sent, but without the cookie, so it does not take the page.
    assert.equal((await world.newer.session(session.session_id)).status, 'PENDING')
    await page.reload()
    assert.equal(await page.locator('#qr').count(), 1)
  } finally {
    evil.close()
  }
})

// An attacker opens the page and shows a copy of it to others, whose browsers ask their wallets there.
for (const [protocol, licence, refused] of [
  [SIGNED, false, 'the wallet'],
  [UNSIGNED, false, 'the gateway'],
  [ISO_MDOC, true, 'the wallet'],
]) {
  test(`a copy of the page on another origin gets nothing by ${protocol}: ${refused} refuses`, inBrowser, async () => {
    const session = await world.begin(world.newer, { licence })
    const cookie = await takenBy(session.page_url)
    const to = (below, options) => fetch(`${session.page_url}${below}`, { ...options, headers: { cookie, ...options?.headers } })
    const evil = await elsewhere(async (request) => {
      const { url, method, headers } = request
      const { pathname, search } = new URL(url, 'http://x')
      const below = pathname.replace(/^\/v\/[^/.]+(?=\/|$)/, '')
      if (/^\/v\/page\.(js|css)$/.test(below)) return (await fetch(world.newer.url + below)).text()
      const body = method === 'POST' ? await text(request) : undefined
      const type = { 'Content-Type': headers['content-type'] ?? 'text/plain', Accept: headers.accept }
      return (await to(below + search, { method, body, headers: type })).text()
    })
    try {
      const page = await browser()
      let failed
      await withWallet(page, (asked, origin) => world.behind(protocol)(asked, origin).catch((error) => {
        failed = error
      }), [protocol])
      await page.goto(`${evil.url}${new URL(session.page_url).pathname}`)
      await page.click('#choose')
      if (refused === 'the wallet') {
        await page.waitForFunction(() => document.querySelector('#alert').textContent.startsWith('No wallet answered'))
        assert.match(String(failed), /expected_origins|signature of the reader/)
        assert.equal((await world.newer.session(session.session_id)).status, 'PENDING')
      } else {
        await page.waitForSelector('main[data-state=refused]')
        const { status, reason, claims } = await world.newer.session(session.session_id)
        assert.deepEqual([status, reason, claims], ['FAILED', 'audience_mismatch', undefined])
      }
    } finally {
      evil.close()
    }
  })
}

test('an org-iso-mdoc answer to a copy of the page does not decrypt', inBrowser, async () => {
  const session = await world.begin(world.newer, { licence: true })
  const cookie = await takenBy(session.page_url)
  const { requests } = await (await fetch(`${session.page_url}/dc-api`, { headers: { cookie } })).json()
  const { data } = requests.find(({ protocol }) => protocol === ISO_MDOC)
  // A wallet that does not check the reader.
  const answered = await world.byIsoMdoc(data, 'http://localhost:1', { roots: null })
  const body = JSON.stringify({ protocol: ISO_MDOC, data: answered })
  const headers = { cookie, 'Content-Type': 'application/json' }
  const reply = await fetch(`${session.page_url}/dc-api`, { method: 'POST', headers, body })
  assert.deepEqual([reply.status, (await reply.json()).error], [400, 'decryption_failed'])
  assert.equal((await world.newer.session(session.session_id)).status, 'PENDING')
})

/** Takes the page without a browser, and returns its cookie. */
async function takenBy(url) {
  const response = await fetch(`${url}/take`, { method: 'POST', headers: { accept: 'application/json' } })
  return response.headers.get('set-cookie').split(';')[0]
}

async function text(stream) {
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
