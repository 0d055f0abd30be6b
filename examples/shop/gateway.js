// The shop's requests to idgate: create a session, read it, follow its status.

import WebSocket from 'ws'

/** The pause before the next attempt to follow a session. */
const RETRY_MS = 500
/** Close codes after which a retry is pointless: settled, our mistake, key or session deleted. */
const FINAL = new Set([1000, 1008, 1009, 4401, 4404])

export class Gateway {
  constructor(url, apiKey) {
    this.url = url
    this.headers = { Authorization: `Bearer ${apiKey}` }
  }

  /** POST /v1/sessions: the new session. */
  createSession(request) {
    const headers = { ...this.headers, 'Content-Type': 'application/json' }
    return this.fetch('/v1/sessions', { method: 'POST', headers, body: JSON.stringify(request) })
  }

  /** GET /v1/sessions/{id}: status, and claims for 30 seconds. */
  session(id) {
    return this.fetch(`/v1/sessions/${id}`, { headers: this.headers })
  }

  /** POST /v1/sessions/{id}/dc-api: the credential that a page got from its browser, unchanged. */
  relay(id, body) {
    const headers = { ...this.headers, 'Content-Type': 'application/json' }
    return this.fetch(`/v1/sessions/${id}/dc-api`, { method: 'POST', headers, body })
  }

  /** The link that opens the wallet on a person's phone. It needs no key. */
  link(id) {
    return `${this.url}/v1/sessions/${id}/open`
  }

  /**
   * Calls `onStatus` with each message after number `after`, over as many connections as necessary, and
   * `onEnd` after the last one. Returns a function that stops it.
   */
  follow(id, after, { onStatus, onEnd }) {
    let last = after
    let socket
    let timer
    let stopped = false
    const connect = () => {
      const url = `${this.url.replace(/^http/, 'ws')}/v1/sessions/${id}/ws?after=${last}`
      socket = new WebSocket(url, 'svc-id-v1', { headers: this.headers, perMessageDeflate: false })
      socket.on('message', (data) => {
        const message = JSON.parse(data)
        last = message.seq
        onStatus(message)
      })
      let refused = false
      // 'close' follows. A refusal is final, unlike a broken connection.
      socket.on('error', ({ message }) => {
        refused = /response: 4\d\d/.test(message)
      })
      socket.on('close', (code) => {
        if (stopped) return
        if (refused || FINAL.has(code)) onEnd()
        else timer = setTimeout(connect, RETRY_MS)
      })
    }
    connect()
    return () => {
      stopped = true
      clearTimeout(timer)
      socket.close()
    }
  }

  async fetch(path, options) {
    const response = await fetch(this.url + path, options)
    const body = await response.json()
    if (!response.ok) {
      const error = new Error(`idgate: ${response.status} ${body.error}: ${body.message}`)
      throw Object.assign(error, { status: response.status })
    }
    return body
  }
}
