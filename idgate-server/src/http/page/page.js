// The page follows its session: it takes the page for this browser, renews what turns, and loads itself again
// when the state changes. It knows no texts; the server writes all of them.

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RETRY_MS = 1000
const MINUTE_MS = 60000
const SHORT_CHECK_MS = 400

const byId = (id) => document.getElementById(id)
const main = document.querySelector('main')
const page = document.querySelector('.page')
const [notice, clock, said, choose, warning] = ['notice', 'left', 'said', 'choose', 'alert'].map(byId)
// A code that is not drawn before the page is this browser's keeps its room.
byId('qr')?.removeAttribute('hidden')
const { state } = main.dataset
// A page that answers a form is at the form's address, and not at its own.
const home = new URL(main.dataset.page, location.href)
const KEPT = `idgate ${home.pathname}`
const ends = performance.now() + Number(main.dataset.left)
const framed = home.searchParams.has('frame') ? 'frame&' : ''
const at = (name) => `${home.pathname}/${name}?${framed}seen=${seenState}`
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

let isLeaving = false
/** The state that the gateway need not say again. */
let seenState = state

/** Loads itself again; once, though two of its parts may learn of the same change, and each second at most. */
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

/** The key of a page whose taking was not answered; some browsers keep nothing. */
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
    // It is kept as long as this page is.
  }
}

/** 22 random characters, 131 bits, as the gateway makes them. */
function fresh() {
  return Array.from(crypto.getRandomValues(new Uint32Array(22)), (one) => DIGITS[one % 62]).join('')
}

let key

/** Takes the page with a key that is the same each time, until a reply says that the gateway has it. */
async function take() {
  key ??= kept() ?? fresh()
  keep(key)
  const seen = await ask('take', { method: 'POST', headers: { 'Idgate-Page-Key': key } })
  keep()
  return seen
}

/** What is said to be another's is this browser's all the same, if the reply was lost. */
async function retake() {
  while (kept()) {
    const seen = await take().catch(() => pause(RETRY_MS))
    if (seen?.state && seen.state !== 'taken') reload()
  }
}

/** Whole minutes; the last of them is said once, where a screen reader reads it. */
function tick() {
  const left = ends - performance.now()
  const minutes = left < MINUTE_MS ? '' : clock.dataset.text?.replace('{n}', Math.ceil(left / MINUTE_MS))
  if (clock.textContent !== minutes) clock.textContent = minutes
  if (!minutes && said.textContent === said.dataset.waits) said.textContent = said.dataset.last
}

/** Says that the gateway cannot be reached, or that it can again; once, for each is read aloud. */
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
      // Only what acts takes a page; this script does, a preview of the link does not.
      let seen = taken ? await ask('state') : await take()
      if (!taken) {
        taken = true
        delete main.dataset.free
        main.dispatchEvent(new Event('taken'))
      }
      say(false)
      if (seen.state === 'checking' && state !== 'checking') {
        // Most checks are over by then, and a page that flickers says nothing.
        await pause(SHORT_CHECK_MS)
        seen = await ask('state')
      }
      // The browser's dialogue is open, or its answer is under way: the page stays.
      if (seen.state === 'fetched' && choose?.disabled) seenState = seen.state
      else if (seen.state !== state) return reload()
      renew(seen)
    } catch {
      say(true)
      await pause(RETRY_MS)
    }
  }
}

/** Whether the browser has a dialogue for this. */
const passes = (protocol) => globalThis.DigitalCredential?.userAgentAllowsProtocol?.(protocol)

/** Whether the page offers the browser's dialogue first. */
function lead(chooses) {
  page.classList.toggle('choosing', chooses)
  page.classList.toggle('slim', chooses || !byId('qr'))
  for (const one of document.querySelectorAll('.chosen')) one.hidden = !chooses
  for (const one of document.querySelectorAll('.linked')) one.hidden = chooses
}

/** Offers the browser's own dialogue, once the gateway has given what it asks. */
async function offer() {
  let requests
  while (requests === undefined) {
    // What failed once may not the next time; null: the gateway has none.
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
  // A button that was disabled has lost it.
  if (document.activeElement === document.body) choose.focus()
}

/** Which text says what went wrong; none when the page itself changes. */
async function asked(requests) {
  // Closed, no wallet, or none that fits: browsers do not tell these apart.
  const options = { mediation: 'required', digital: { requests } }
  const credential = await navigator.credentials.get(options).catch(() => null)
  if (!credential) return 'noAnswer'
  const { protocol, data } = credential
  const body = JSON.stringify({ protocol, data })
  const headers = { 'Content-Type': 'application/json' }
  const seen = await ask('dc-api', { method: 'POST', headers, body }).catch(() => undefined)
  return seen?.state && seen.state !== state ? undefined : 'notTaken'
}

// A page that loaded itself again says first what it is now; one that is new to the person leaves the focus alone.
// In a frame the focus may be in the page around it.
if (window === top && performance.getEntriesByType('navigation')[0]?.type === 'reload') {
  scrollTo(0, 0)
  document.querySelector('h1').focus()
}
if (clock) setInterval(tick, 1000)
if (notice) follow()
if (state === 'none') retake()
if (choose?.dataset.protocols?.split(' ').some(passes)) {
  // It has its room at once, so that nothing moves under a camera or a finger; it is out of sight until it can be used.
  choose.style.visibility = 'hidden'
  lead(true)
  const begin = () => offer().catch(() => {})
  if ('free' in main.dataset) main.addEventListener('taken', begin, { once: true })
  else begin()
}
// A person who comes back to a page that the browser kept sees how it is now.
addEventListener('pageshow', (event) => event.persisted && location.reload())

const back = byId('back')
if (back && 'auto' in back.dataset && window === top) {
  pause(Number(back.dataset.auto)).then(() => location.replace(back.href))
}
if ('again' in main.dataset) {
  pause(1000 * Number(main.dataset.again)).then(() => location.replace(byId('again').href))
}
