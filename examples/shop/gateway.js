// What the shop asks of idgate: make a session, read it, follow its status.

import WebSocket from 'ws'

/** Between two attempts to follow a session again. */
const RETRY_MS = 500
/** Close codes after which another attempt makes no sense: settled, our mistake, key or session gone. */
const FINAL = new Set([1000, 1008, 1009, 4401, 4404])

export class Gateway {
  constructor(url, apiKey) {
    this.url = url
    this.headers = { Authorization: `Bearer ${apiKey}` }
  }

  /** POST /v1/sessions: the invitation. */
  createSession(request) {
    const headers = { ...this.headers, 'Content-Type': 'application/json' }
    return this.fetch('/v1/sessions', { method: 'POST', headers, body: JSON.stringify(request) })
  }

  /** GET /v1/sessions/{id}: status, and claims for 30 seconds. */
  session(id) {
    return this.fetch(`/v1/sessions/${id}`, { headers: this.headers })
  }

  /** POST /v1/sessions/{id}/dc-api: what a page got from its browser, byte by byte. */
  relay(id, body) {
    const headers = { ...this.headers, 'Content-Type': 'application/json' }
    return this.fetch(`/v1/sessions/${id}/dc-api`, { method: 'POST', headers, body })
  }

  /** The link that leads a person's phone to the wallet; it needs no key. */
  link(id) {
    return `${this.url}/v1/sessions/${id}/open`
  }

  /**
   * Calls `onStatus` with each message after the one of number `after`, over as many connections
   * as it takes, and `onEnd` when there will be no more. Returns what stops it.
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
      // 'close' follows. A refusal, unlike a broken connection, is for good.
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
