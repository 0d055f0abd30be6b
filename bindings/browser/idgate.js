// idgate for a page of your own. It starts a verification at your server, asks the wallets that the browser knows,
// and reports progress. It talks only to your server; README.md says which requests your server answers.

/** @typedef {import('./idgate.js').Begun} Begun */

/** Whether this browser has a dialogue for any of these requests. */
export function canAsk(requests) {
  const allows = globalThis.DigitalCredential?.userAgentAllowsProtocol
  return Boolean(allows) && passedOn(requests).length > 0
}

/** One verification. Emits `status`, `cancelled`, `outcome` and `failed`, each with a `detail`. */
export class Verification extends EventTarget {
  #url
  #events
  #dialogue

  /** @param {string} url of the verification at your server @param {Begun} begun what it answered */
  constructor(url, begun) {
    super()
    this.#url = url
    this.begun = begun
  }

  /**
   * Opens the browser's dialogue; call it in a click handler. Resolves to the outcome, or to `undefined` if there is
   * no dialogue or the person closed it. Then show the code, the link or the page.
   */
  async ask() {
    const requests = this.begun.dc_api?.requests
    if (!canAsk(requests)) return undefined
    const dialogue = new AbortController()
    this.#dialogue = dialogue
    let credential, why
    try {
      const digital = { requests: passedOn(requests) }
      credential = await navigator.credentials.get({ mediation: 'required', digital, signal: dialogue.signal })
    } catch (error) {
      why = error
    } finally {
      if (this.#dialogue === dialogue) this.#dialogue = undefined
    }
    if (!credential) {
      // Browsers do not distinguish a closed dialogue, no wallet, and no matching credential.
      if (!dialogue.signal.aborted) this.#tell('cancelled', why)
      return undefined
    }
    const { protocol, data } = credential
    await call(`${this.#url}/dc-api`, { protocol, data })
    return this.outcome()
  }

  /** Follows your server's status events (server-sent events) until the outcome. */
  follow() {
    if (this.#events) return this
    const events = new EventSource(`${this.#url}/events`)
    this.#events = events
    events.onmessage = ({ data }) => {
      const status = parsed(data)
      if (status !== undefined) this.#tell('status', status)
    }
    const end = () => {
      this.stop()
      this.outcome().catch((error) => this.#tell('failed', error))
    }
    events.addEventListener('end', end)
    // Browsers reconnect after most errors. When they give up, request the outcome once.
    events.onerror = () => {
      if (events.readyState === EventSource.CLOSED && this.#events === events) end()
    }
    return this
  }

  /** The outcome, as your server reports it. */
  async outcome() {
    this.stop()
    const outcome = await call(this.#url)
    this.#tell('outcome', outcome)
    return outcome
  }

  /** Stops following, and closes an open dialogue. */
  stop() {
    this.#dialogue?.abort()
    this.#events?.close()
    this.#events = undefined
  }

  #tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }))
  }
}

/**
 * Starts a verification at your server: POST `url`, which answers with `id` and what your page shows.
 * @param {string} url @param {{ body?: unknown, headers?: Record<string, string> }} [options]
 */
export async function start(url, { body, headers } = {}) {
  const begun = await call(url, body ?? {}, headers)
  return new Verification(`${url}/${encodeURIComponent(begun.id)}`, begun)
}

/**
 * Runs a verification from the click to the outcome. Without a dialogue, `fallback` shows the code, the link or the
 * page, and the outcome arrives when a wallet has answered.
 */
export async function verify(url, { fallback, ...options } = {}) {
  const verification = await start(url, options)
  const asked = await verification.ask()
  if (asked !== undefined) return asked
  return new Promise((resolve, reject) => {
    verification.addEventListener('outcome', ({ detail }) => resolve(detail))
    verification.addEventListener('failed', ({ detail }) => reject(detail))
    verification.follow()
    // The outcome does not wait for `fallback`, but an error of `fallback` fails the verification.
    const shown = async () => fallback?.(verification)
    shown().catch((error) => {
      verification.stop()
      reject(error)
    })
  })
}

function passedOn(requests) {
  const allows = (protocol) => globalThis.DigitalCredential.userAgentAllowsProtocol(protocol)
  return (requests ?? []).filter(({ protocol }) => allows(protocol))
}

/** Returns `undefined` if the text is not JSON; the next message may be. */
function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function call(url, body, headers) {
  const post = body !== undefined && {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  }
  const response = await fetch(url, { credentials: 'same-origin', ...post })
  if (!response.ok) throw new Error(`the server answers ${response.status}`)
  return response.json()
}
