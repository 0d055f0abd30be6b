// The page follows its session: it takes the page for this browser, renews what turns, and loads itself
// anew when the session stands elsewhere. It knows no texts; the server writes all of them.

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

async function ask(name, options) {
  const response = await fetch(at(name), { ...options, headers: { Accept: 'application/json', ...options?.headers } })
  if (response.status === 429) await pause(1000 * Number(response.headers.get('Retry-After') ?? 1))
  if (response.status >= 429) throw new Error(`the gateway answers ${response.status}`)
  return response.json()
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
      const seen = taken ? await ask('state') : await ask('take', { method: 'POST' })
      if (!taken) {
        taken = true
        delete main.dataset.free
        main.dispatchEvent(new Event('taken'))
      }
      if (notice.textContent === notice.dataset.offline) notice.textContent = ''
      if (seen.state !== state) return location.reload()
      renew(seen)
    } catch {
      notice.textContent = notice.dataset.offline
      await pause(RETRY_MS)
    }
  }
}

/** Offers the browser's own dialogue, if it passes on any of what this page may ask. */
async function offer(dialogue) {
  const { requests } = await ask('dc-api')
  const passed = requests?.filter(({ protocol }) => DigitalCredential.userAgentAllowsProtocol(protocol))
  if (!passed?.length) return
  dialogue.hidden = false
  document.getElementById('choose').addEventListener('click', () => choose(dialogue, passed))
}

async function choose(dialogue, requests) {
  let credential
  try {
    credential = await navigator.credentials.get({ mediation: 'required', digital: { requests } })
  } catch {
    // Closed, no wallet, or none that fits: browsers do not tell these apart.
    notice.textContent = dialogue.dataset.cancelled
    return
  }
  const { protocol, data } = credential
  const body = JSON.stringify({ protocol, data })
  const headers = { 'Content-Type': 'application/json' }
  const seen = await ask('dc-api', { method: 'POST', headers, body }).catch(() => undefined)
  if (seen?.state && seen.state !== state) location.reload()
  else notice.textContent = dialogue.dataset.cancelled
}

if (clock) setInterval(tick, 1000)
if (notice) follow()
const dialogue = document.getElementById('dialogue')
const api = globalThis.DigitalCredential?.userAgentAllowsProtocol
if (dialogue && api) {
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
