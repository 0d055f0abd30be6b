// Follows the session: takes the page for this browser, renews the code and links, and reloads the page when the
// state changes. It contains no texts; the server writes all of them.

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RETRY_MS = 1000
const MINUTE_MS = 60000
const SHORT_CHECK_MS = 400

const byId = (id) => document.getElementById(id)
const main = document.querySelector('main')
const page = document.querySelector('.page')
const [notice, clock, said, choose, warning] = ['notice', 'left', 'said', 'choose', 'alert'].map(byId)
// Reserve the room of a code that is drawn only once this browser has the page.
byId('qr')?.removeAttribute('hidden')
const { state } = main.dataset
// A page that is the response to a form is at the form's address, not at its own.
const home = new URL(main.dataset.page, location.href)
const KEPT = `idgate ${home.pathname}`
const ends = performance.now() + Number(main.dataset.left)
const framed = home.searchParams.has('frame') ? 'frame&' : ''
const at = (name) => `${home.pathname}/${name}?${framed}seen=${seenState}`
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

let isLeaving = false
/** The last state that the gateway reported; it need not report it again. */
let seenState = state

/** Reloads the page once, even if two parts see the same change, and at most once a second. */
async function reload() {
  if (isLeaving) return
  isLeaving = true
  await pause(RETRY_MS - performance.now())
  if (location.pathname === home.pathname) location.reload()
  else location.replace(home)
}

async function ask(name, options) {
  const response = await fetch(at(name), { ...options, headers: { Accept: 'application/json', ...options?.headers } })
  if (response.status === 429) await pause(1000 * Number(response.headers.get('Retry-After') ?? 1))
  if (response.status >= 429) throw new Error(`the gateway answers ${response.status}`)
  return response.json()
}

/** The key of a page whose `take` got no reply. Some browsers have no session storage. */
function kept() {
  try {
    return sessionStorage.getItem(KEPT)
  } catch {
    return null
  }
}

function keep(key) {
  try {
    if (key) sessionStorage.setItem(KEPT, key)
    else sessionStorage.removeItem(KEPT)
  } catch {
    // The key lives only as long as this page.
  }
}

/** 22 random characters (131 bits), the gateway's format. */
function fresh() {
  return Array.from(crypto.getRandomValues(new Uint32Array(22)), (one) => DIGITS[one % 62]).join('')
}

let key

/** Takes the page, with the same key each time until the gateway confirms it. */
async function take() {
  key ??= kept() ?? fresh()
  keep(key)
  const seen = await ask('take', { method: 'POST', headers: { 'Idgate-Page-Key': key } })
  keep()
  return seen
}

/** After a lost reply, a page "open in another browser" may in fact be this browser's. */
async function retake() {
  while (kept()) {
    const seen = await take().catch(() => pause(RETRY_MS))
    if (seen?.state && seen.state !== 'taken') reload()
  }
}

/** Shows whole minutes. The last one is announced once, for screen readers. */
function tick() {
  const left = ends - performance.now()
  const minutes = left < MINUTE_MS ? '' : clock.dataset.text?.replace('{n}', Math.ceil(left / MINUTE_MS))
  if (clock.textContent !== minutes) clock.textContent = minutes
  if (!minutes && said.textContent === said.dataset.waits) said.textContent = said.dataset.last
}

/** Shows that the gateway became unreachable or reachable. Only on a change: screen readers read each text aloud. */
function say(isOffline) {
  if ((notice.textContent !== '') === isOffline) return
  notice.textContent = isOffline ? notice.dataset.offline : ''
  if (!said) return
  said.textContent = isOffline ? said.dataset.reconnect : said.dataset.waits
}

function renew({ links, qr, back: way }) {
  const out = byId('out')
  if (way && out) {
    out.href = way
    out.hidden = false
  }
  for (const link of document.querySelectorAll('a[data-scheme]')) {
    if (links?.[link.dataset.scheme]) link.href = links[link.dataset.scheme]
  }
  const drawn = document.querySelector('#qr path')
  if (qr && drawn) {
    for (const code of document.querySelectorAll('.qr')) code.setAttribute('viewBox', qr.view)
    drawn.setAttribute('d', qr.path)
    drawn.setAttribute('stroke-dasharray', qr.dashes)
  }
}

async function follow() {
  let taken = !('free' in main.dataset)
  for (;;) {
    try {
      // A preview of the link must not take the page, so only this script or a button does.
      let seen = taken ? await ask('state') : await take()
      if (!taken) {
        taken = true
        delete main.dataset.free
        main.dispatchEvent(new Event('taken'))
      }
      say(false)
      if (seen.state === 'checking' && state !== 'checking') {
        // Most checks finish within this time, so the page does not flicker.
        await pause(SHORT_CHECK_MS)
        seen = await ask('state')
      }
      // The browser's dialogue is open, or its answer is in transit: do not reload.
      if (seen.state === 'fetched' && choose?.disabled) seenState = seen.state
      else if (seen.state !== state) return reload()
      renew(seen)
    } catch {
      say(true)
      await pause(RETRY_MS)
    }
  }
}

/** Whether the browser's dialogue supports this protocol. */
const passes = (protocol) => globalThis.DigitalCredential?.userAgentAllowsProtocol?.(protocol)

/** Shows the browser's dialogue as the first way, or the code and links. */
function lead(chooses) {
  page.classList.toggle('choosing', chooses)
  page.classList.toggle('slim', chooses || !byId('qr'))
  for (const one of document.querySelectorAll('.chosen')) one.hidden = !chooses
  for (const one of document.querySelectorAll('.linked')) one.hidden = chooses
}

/** Offers the browser's dialogue once the gateway has sent the requests for it. */
async function offer() {
  let requests
  while (requests === undefined) {
    // Retry after a failure; null means that the gateway has no requests.
    requests = await ask('dc-api').then((told) => told.requests ?? null, () => pause(RETRY_MS))
  }
  const passed = requests?.filter(({ protocol }) => passes(protocol))
  lead(passed?.length > 0)
  choose.style.visibility = ''
  choose.addEventListener('click', () => askWallets(passed))
}

async function askWallets(requests) {
  choose.disabled = true
  warning.textContent = ''
  const failed = await asked(requests)
  if (!failed) return reload()
  if (seenState !== state) return reload()
  warning.textContent = choose.dataset[failed]
  choose.disabled = false
  // Disabling the button took the focus away.
  if (document.activeElement === document.body) choose.focus()
}

/** The name of the text that explains the failure; undefined if the page's state changes instead. */
async function asked(requests) {
  // Closed, no wallet, or no suitable one: browsers do not tell these apart.
  const options = { mediation: 'required', digital: { requests } }
  const credential = await navigator.credentials.get(options).catch(() => null)
  if (!credential) return 'noAnswer'
  const { protocol, data } = credential
  const body = JSON.stringify({ protocol, data })
  const headers = { 'Content-Type': 'application/json' }
  const seen = await ask('dc-api', { method: 'POST', headers, body }).catch(() => undefined)
  return seen?.state && seen.state !== state ? undefined : 'notTaken'
}

// After a reload, start at the heading so that the new state is read first. A first visit leaves the focus alone,
// and so does a frame: the focus may be in the page around it.
if (window === top && performance.getEntriesByType('navigation')[0]?.type === 'reload') {
  scrollTo(0, 0)
  document.querySelector('h1').focus()
}
if (clock) setInterval(tick, 1000)
if (notice) follow()
if (state === 'none') retake()
if (choose?.dataset.protocols?.split(' ').some(passes)) {
  // Reserve its room now, so that nothing moves under a camera or a finger. It is hidden until it can be used.
  choose.style.visibility = 'hidden'
  lead(true)
  const begin = () => offer().catch(() => {})
  if ('free' in main.dataset) main.addEventListener('taken', begin, { once: true })
  else begin()
}
// The browser may restore the page from its cache; reload to show the current state.
addEventListener('pageshow', (event) => event.persisted && location.reload())

const back = byId('back')
if (back && 'auto' in back.dataset && window === top) {
  pause(Number(back.dataset.auto)).then(() => location.replace(back.href))
}
if ('again' in main.dataset) {
  pause(1000 * Number(main.dataset.again)).then(() => location.replace(byId('again').href))
}
