// The page: begins an order, shows the code and the live status, then the outcome. It talks to the
// shop's backend only, and never sees a key or a claim that it does not show.

const element = (id) => document.getElementById(id)

function show(id) {
  for (const section of document.querySelectorAll('section')) section.hidden = section.id !== id
}

async function call(path, options) {
  const response = await fetch(path, options)
  if (!response.ok) throw new Error(`the shop answers ${response.status}`)
  return response.json()
}

async function begin(device) {
  const order = await call('/orders', { method: 'POST', headers: { 'X-Device': device } })
  element('link').href = order.link
  if (device === 'this') {
    // From here the wallet takes over; it leads back to /back.
    location.assign(order.link)
    return
  }
  if (order.qr) {
    element('qr').src = order.qr
    element('qr').hidden = false
  }
  show('scan')
  follow(order.id)
}

/** Shows each status as it comes; a broken connection goes on where it stopped, by itself. */
function follow(id) {
  const events = new EventSource(`/orders/${id}/events`)
  events.onmessage = ({ data }) => {
    element('status').textContent = JSON.parse(data).status
  }
  events.addEventListener('end', () => {
    events.close()
    finish(id).catch(fail)
  })
}

async function finish(id) {
  const { state, name, words } = await call(`/orders/${id}`)
  if (state === 'waiting') {
    // Nobody knows yet, or the shop could not find out: it is asked again.
    show('scan')
    setTimeout(() => follow(id), 1000)
    return
  }
  element('name').textContent = name ?? ''
  tell(state, words)
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

// The way back from the wallet ends here.
const order = location.hash.slice(1)
if (order === 'refused') tell('refused', 'this is not the browser that began')
else if (/^[0-9a-f]{16}$/.test(order)) finish(order).catch(fail)
