// idgate for a page of your own: it begins a verification at your server, asks the wallets that the browser
// knows, and tells how it goes. It talks to your server alone, which relays (README.md says what it answers).

/** @typedef {import('./idgate.js').Begun} Begun */

/** Whether this browser has a dialogue for any of these requests. */
export function canAsk(requests) {
  const allows = globalThis.DigitalCredential?.userAgentAllowsProtocol
  return Boolean(allows) && passedOn(requests).length > 0
}

/** One verification. Events: `status`, `cancelled`, `outcome`, `failed`; each has its `detail`. */
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
   * Asks through the browser's own dialogue, in a click. Resolves to the outcome, or to `undefined` when there
   * is no dialogue, or the person closed it: then show the code, the link or the page.
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
      // Closed, no wallet, or none that fits: browsers do not tell these apart.
      if (!dialogue.signal.aborted) this.#tell('cancelled', why)
      return undefined
    }
    const { protocol, data } = credential
    await call(`${this.#url}/dc-api`, { protocol, data })
    return this.outcome()
  }

  /** Follows what your server tells, as server-sent events, until the outcome. */
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
    // After most errors browsers connect again; when they give up, the outcome is asked for once.
    events.onerror = () => {
      if (events.readyState === EventSource.CLOSED && this.#events === events) end()
    }
    return this
  }

  /** What came of it, as your server says it. */
  async outcome() {
    this.stop()
    const outcome = await call(this.#url)
    this.#tell('outcome', outcome)
    return outcome
  }

  /** Follows no more, and closes a dialogue that is open. */
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
 * Begins a verification at your server: POST `url`, which answers with `id` and what there is to show.
 * @param {string} url @param {{ body?: unknown, headers?: Record<string, string> }} [options]
 */
export async function start(url, { body, headers } = {}) {
  const begun = await call(url, body ?? {}, headers)
  return new Verification(`${url}/${encodeURIComponent(begun.id)}`, begun)
}

/**
 * From the click to the outcome: the browser's dialogue where there is one, else `fallback` shows the code, the
 * link or the page, and the outcome comes when a wallet has answered.
 */
export async function verify(url, { fallback, ...options } = {}) {
  const verification = await start(url, options)
  const asked = await verification.ask()
  if (asked !== undefined) return asked
  return new Promise((resolve, reject) => {
    verification.addEventListener('outcome', ({ detail }) => resolve(detail))
    verification.addEventListener('failed', ({ detail }) => reject(detail))
    verification.follow()
    // It may take its time, and the outcome does not wait for it; what it cannot show fails all of it.
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

/** `undefined`: it is no JSON, and the next message may be. */
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
