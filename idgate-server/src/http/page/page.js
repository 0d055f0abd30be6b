// The page follows its session: it takes the page for this browser, renews what turns, and loads itself
// anew when the session stands elsewhere. It knows no texts; the server writes all of them.

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const KEPT = `idgate ${location.pathname}`
const RETRY_MS = 1000
const BACK_MS = 2500

const main = document.querySelector('main')
const notice = document.getElementById('notice')
const clock = document.getElementById('left')
const { state } = main.dataset
const ends = performance.now() + Number(main.dataset.left)
const framed = new URLSearchParams(location.search).has('frame') ? 'frame&' : ''
const at = (name) => `${location.pathname}/${name}?${framed}seen=${state}`
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

let isLeaving = false

/** Loads itself anew; once, though two of its parts may hear that the session stands elsewhere. */
function loadAnew() {
  if (!isLeaving) location.reload()
  isLeaving = true
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

/** Takes the page with a key that is the same each time, until a reply says that the gateway has heard it. */
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
    if (seen?.state && seen.state !== 'taken') loadAnew()
  }
}

function tick() {
  const left = Math.max(0, Math.floor((ends - performance.now()) / 1000))
  clock.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`
}

function renew({ links, qr }) {
  for (const link of document.querySelectorAll('a[data-scheme]')) {
    if (links?.[link.dataset.scheme]) link.href = links[link.dataset.scheme]
  }
  const drawn = document.querySelector('#qr path')
  if (qr && drawn) {
    drawn.parentNode.setAttribute('viewBox', qr.view)
    drawn.setAttribute('d', qr.path)
    drawn.setAttribute('stroke-dasharray', qr.dashes)
  }
}

async function follow() {
  let taken = !('free' in main.dataset)
  for (;;) {
    try {
      // Only what acts takes a page; this script does, a preview of the link does not.
      const seen = taken ? await ask('state') : await take()
      if (!taken) {
        taken = true
        delete main.dataset.free
        main.dispatchEvent(new Event('taken'))
      }
      if (notice.textContent === notice.dataset.offline) notice.textContent = ''
      if (seen.state !== state) return loadAnew()
      renew(seen)
    } catch {
      notice.textContent = notice.dataset.offline
      await pause(RETRY_MS)
    }
  }
}

/** Whether the browser has a dialogue for this. */
const passes = (protocol) => globalThis.DigitalCredential?.userAgentAllowsProtocol?.(protocol)

/** Offers the browser's own dialogue, once the gateway has given what it asks. */
async function offer(dialogue) {
  let requests
  while (requests === undefined) {
    // What failed once may not the next time; null: the gateway has none.
    requests = await ask('dc-api').then((told) => told.requests ?? null, () => pause(RETRY_MS))
  }
  const passed = requests?.filter(({ protocol }) => passes(protocol))
  dialogue.hidden = !passed?.length
  dialogue.style.visibility = ''
  const button = document.getElementById('choose')
  button.addEventListener('click', () => choose(dialogue, button, passed))
}

async function choose(dialogue, button, requests) {
  button.disabled = true
  notice.textContent = ''
  const said = await asked(requests)
  if (!said) return loadAnew()
  notice.textContent = dialogue.dataset[said]
  button.disabled = false
  // A button that was disabled has lost it.
  if (document.activeElement === document.body) button.focus()
}

/** What is to be said of what came of it; nothing when the page says it anew. */
async function asked(requests) {
  // Closed, no wallet, or none that fits: browsers do not tell these apart.
  const options = { mediation: 'required', digital: { requests } }
  const credential = await navigator.credentials.get(options).catch(() => null)
  if (!credential) return 'cancelled'
  const { protocol, data } = credential
  const body = JSON.stringify({ protocol, data })
  const headers = { 'Content-Type': 'application/json' }
  const seen = await ask('dc-api', { method: 'POST', headers, body }).catch(() => undefined)
  return seen?.state && seen.state !== state ? undefined : 'failed'
}

if (clock) setInterval(tick, 1000)
if (notice) follow()
if (state === 'none') retake()
const dialogue = document.getElementById('dialogue')
if (dialogue?.dataset.protocols?.split(' ').some(passes)) {
  // It has its room at once: what somebody is about to scan or to press stays where it is.
  // Out of sight until it can be used, also where the page's style has not come.
  dialogue.style.visibility = 'hidden'
  dialogue.hidden = false
  const begin = () => offer(dialogue).catch(() => {})
  if ('free' in main.dataset) main.addEventListener('taken', begin, { once: true })
  else begin()
}
// Who comes back to a page that the browser kept sees how it stands now.
addEventListener('pageshow', (event) => event.persisted && location.reload())

const back = document.getElementById('back')
if (back && 'auto' in back.dataset && window === top) {
  pause(BACK_MS).then(() => location.replace(back.href))
}
