// The page: begins an order, asks the browser's wallets or shows the code and the live status, and then the
// outcome. It talks only to the shop's backend. It never receives a key, or a claim that it does not show.

import { start, Verification } from '/idgate.js'

/** The states of an order, in words. */
const STATUS = {
  CREATED: 'Waiting for your wallet',
  PENDING: 'Waiting for your wallet',
  VERIFYING: 'Checking the answer',
  VERIFIED: 'Confirmed',
  FAILED: 'Not confirmed',
  EXPIRED: 'The time is over',
}

const element = (id) => document.getElementById(id)

function show(id) {
  for (const section of document.querySelectorAll('section')) section.hidden = section.id !== id
}

async function begin(device) {
  const order = await start('/orders', { headers: { 'X-Device': device } })
  const { link, qr, page_url: page } = order.begun
  element('link').href = link
  if (device === 'this') {
    // The wallet continues from here, and leads back to /back.
    location.assign(link)
    return
  }
  listen(order)
  if (qr) {
    element('qr').src = qr
    element('qr').hidden = false
  }
  // The browser's own dialogue if it has one for this request; else the gateway's page, or the code.
  if (await order.ask()) return
  if (page) return location.assign(page)
  show('scan')
  order.follow()
}

/** Shows each status as it comes, and the outcome. */
function listen(order) {
  order.addEventListener('status', ({ detail }) => {
    element('status').textContent = STATUS[detail.status] ?? ''
  })
  order.addEventListener('failed', ({ detail }) => fail(detail))
  order.addEventListener('outcome', ({ detail: { state, name, words } }) => {
    if (state === 'waiting') {
      // There is no outcome yet, or the shop could not read it. Ask again.
      show('scan')
      setTimeout(() => order.follow(), 1000)
      return
    }
    element('name').textContent = name ?? ''
    tell(state, words)
  })
}

/** Shows an outcome in the shop's words. */
function tell(state, words = 'we do not know why') {
  for (const place of document.querySelectorAll('.words')) place.textContent = words
  show(state)
}

const fail = (error) => tell('unfinished', error.message)

for (const device of ['other', 'this']) {
  element(device).addEventListener('click', () => begin(device).catch(fail))
}

// The redirect from the wallet ends here.
const id = location.hash.slice(1)
if (id === 'refused') {
  tell('refused', 'this is not the browser that began; go on there')
} else if (/^[0-9a-f]{16}$/.test(id)) {
  const order = new Verification(`/orders/${id}`, { id })
  listen(order)
  order.outcome().catch(fail)
}
