// A real `idgate` on a free port with its own data directory, for operators and tenants.

import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import readline from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { within } from '../../harness/patience.cjs'

const BINARY =
  process.env.IDGATE_BIN ?? fileURLToPath(new URL('../../../target/tested/idgate', import.meta.url))
const STEP_MS = 2000

export class Gateway {
  /**
   * Provisions a tenant, trusts `issuers` and serves; `test`: all of it in test mode. `access` makes
   * certificates for verifiers: with it the gateway has one. `origins`: where the tenant's pages are from.
   * `machine` sets the clocks of the server.
   */
  static async start(
    issuers,
    { test = false, requestMode = 'inline', environment = {}, access, origins = [], machine } = {}
  ) {
    const gateway = new Gateway()
    gateway.requestMode = requestMode
    gateway.environment = environment
    gateway.machine = machine
    gateway.mode = test ? ['--test'] : []
    gateway.dir = await mkdtemp(path.join(os.tmpdir(), 'idgate-wallets-'))
    try {
      const client = await gateway.command('client', 'create', 'Example Shop', ...gateway.mode)
      gateway.apiKey = client.api_key
      for (const origin of origins) await gateway.command('client', 'origin', 'add', client.client_id, origin)
      for (const issuer of issuers) await gateway.trust(issuer)
      if (access) await gateway.certify(access)
      await gateway.serve()
    } catch (error) {
      await gateway.stop()
      throw error
    }
    return gateway
  }

  /** Runs an operator command and returns the object that it prints. */
  async command(...args) {
    const { stdout } = await promisify(execFile)(BINARY, [...args, '--json'], { env: this.env() })
    return JSON.parse(stdout)
  }

  /** Trusts an issuer by its bare key, or by its root certificate. */
  async trust({ issuerId, vct, publicJwk, rootPem }) {
    const file = path.join(this.dir, 'issuer')
    await writeFile(file, rootPem ?? JSON.stringify(publicJwk))
    const material = rootPem ? ['--root', file] : ['--jwk', file, '--vct', vct]
    await this.command('trust', 'add', issuerId, ...material, ...this.mode)
  }

  /** Asks for a certificate, has it made, and puts it in force. */
  async certify(access) {
    const { csr } = await this.command('keys', 'csr')
    const file = path.join(this.dir, 'chain.pem')
    await writeFile(file, await access.certify(csr))
    await this.command('keys', 'certificate', file)
  }

  /** POST /v1/sessions: the invitation. */
  async createSession(request) {
    return this.tenant('POST', '/v1/sessions', 201, request)
  }

  /** GET /v1/sessions/{id}: the result. `code` is the one that the browser brought. */
  async session(id, code) {
    const query = code ? `?response_code=${code}` : ''
    return this.tenant('GET', `/v1/sessions/${id}${query}`, 200)
  }

  /** POST /v1/sessions/{id}/dc-api: relays the result of the page's browser, like a tenant. */
  async relay(id, credential) {
    const headers = { ...this.headers(), 'content-type': 'application/json' }
    const options = { method: 'POST', headers, body: JSON.stringify(credential) }
    const response = await fetch(`${this.url}/v1/sessions/${id}/dc-api`, options)
    return { status: response.status, body: await response.json() }
  }

  async tenant(method, target, expected, body) {
    const headers = this.headers()
    if (body) headers['content-type'] = 'application/json'
    const response = await fetch(this.url + target, { method, headers, body: body && JSON.stringify(body) })
    const text = await response.text()
    if (response.status !== expected) throw new Error(`${method} ${target}: ${response.status} ${text}`)
    return text ? JSON.parse(text) : null
  }

  /** Stops the clock while `work` is done. Then it catches up, by steps shorter than the limits of requests. */
  async still(work) {
    this.machine.freeze()
    try {
      return await work()
    } finally {
      for (let left = this.machine.thaw(); left > 0; left -= STEP_MS) {
        this.machine.jump(Math.min(left, STEP_MS))
        await fetch(`${this.url}/healthz`, { headers: { connection: 'close' } })
      }
    }
  }

  /** Each request uses a new connection: the server closes idle ones when its clock jumps. */
  headers() {
    return { authorization: `Bearer ${this.apiKey}`, connection: 'close' }
  }

  /** Stops the server like an operator, and removes its data. */
  async stop() {
    if (this.process && this.process.exitCode === null) {
      const ended = new Promise((resolve) => this.process.once('exit', resolve))
      this.process.kill('SIGTERM')
      await within('idgate ends', ended).catch(() => this.process.kill('SIGKILL'))
      await ended
    }
    this.machine?.remove()
    await rm(this.dir, { recursive: true, force: true })
  }

  async serve() {
    const env = { ...this.env(), ...this.machine?.environment }
    this.process = spawn(BINARY, ['serve'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    const lines = readline.createInterface({ input: this.process.stdout })
    const listens = new Promise((resolve, reject) => {
      this.process.once('error', reject)
      this.process.once('exit', (code) => reject(new Error(`idgate ended with ${code} before it listened`)))
      lines.on('line', (line) => {
        const match = /^listening on (\S+)$/.exec(line)
        if (match) resolve(match[1])
      })
    })
    this.url = await within('idgate listens', listens)
  }

  env() {
    const inherited = Object.entries(process.env).filter(([name]) => !/^(IDGATE|OID4VP)_/.test(name))
    return {
      ...Object.fromEntries(inherited),
      IDGATE_DATA_DIR: path.join(this.dir, 'data'),
      IDGATE_LISTEN: '127.0.0.1:0',
      IDGATE_LOG: 'warn',
      OID4VP_REQUEST_MODE: this.requestMode,
      ...this.environment,
    }
  }
}
