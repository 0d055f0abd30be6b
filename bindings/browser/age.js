// The button of age.html, which a Content-Security-Policy wants in a file of its own.

import { verify } from '/idgate.js'
const element = (id) => document.getElementById(id)

// No dialogue in this browser, or the person closed it: the link, which a QR code can carry as well.
const fallback = ({ begun }) => {
  element('link').href = begun.link
  element('link').hidden = false
}
element('age').onclick = async () => {
  const { adult } = await verify('/age', { fallback }).catch(() => ({}))
  element('link').hidden = true
  element('outcome').textContent = adult ? 'Welcome' : adult === false ? 'For adults only' : 'Please try again'
}
