// The button of age.html, in a file of its own because a Content-Security-Policy forbids inline scripts.

import { verify } from '/idgate.js'
const element = (id) => document.getElementById(id)

// Without a dialogue, or when the person closed it, show the link. A QR code can carry the same link.
const fallback = ({ begun }) => {
  element('link').href = begun.link
  element('link').hidden = false
}
element('age').onclick = async () => {
  const { adult } = await verify('/age', { fallback }).catch(() => ({}))
  element('link').hidden = true
  element('outcome').textContent = adult ? 'Welcome' : adult === false ? 'For adults only' : 'Please try again'
}
