// A real `idgate sandbox` on free ports, in a temporary folder.

import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import readline from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { within } from '../../harness/patience.cjs'

const BINARY =
  process.env.IDGATE_BIN ?? fileURLToPath(new URL('../../../target/tested/idgate', import.meta.url))

export class Sandbox {
  /** Starts one, with further options of the command. */
  static async start(...more) {
    const sandbox = new Sandbox()
    sandbox.dir = await mkdtemp(path.join(os.tmpdir(), 'idgate-wallets-'))
    const own = ['--page-listen', '127.0.0.1:0', '--https-listen', '127.0.0.1:0', '--listen', '127.0.0.1:0']
    const stdio = ['ignore', 'pipe', 'inherit']
    sandbox.process = spawn(BINARY, ['sandbox', '--json', ...own, ...more], { env: sandbox.env(), stdio })
    const lines = readline.createInterface({ input: sandbox.process.stdout })
    const told = new Promise((resolve, reject) => {
      sandbox.process.once('error', reject)
      sandbox.process.once('exit', (code) => reject(new Error(`the sandbox ended with ${code}`)))
      lines.once('line', resolve)
    })
    sandbox.told = JSON.parse(await within('the sandbox is ready', told))
    return sandbox
  }

  /** `idgate sandbox offer`: what it prints. */
  async offer(...args) {
    const { stdout } = await promisify(execFile)(BINARY, ['sandbox', 'offer', '--json', ...args], { env: this.env() })
    return JSON.parse(stdout)
  }

  /** `idgate sandbox wallet`: answers a link. */
  async wallet(link, action) {
    await promisify(execFile)(BINARY, ['sandbox', 'wallet', link, '--do', action], { env: this.env() })
  }

  /** Withdraws the samples of the newest offer. */
  async withdraw() {
    const page = this.told.page_url
    const { offers } = await (await fetch(`${page}api/offers`)).json()
    const withdrawn = await fetch(`${page}api/offers/${offers[0].id}/withdraw`, { method: 'POST' })
    return withdrawn.json()
  }

  async tenant(method, target, body) {
    const headers = { authorization: `Bearer ${this.told.api_key}`, 'content-type': 'application/json' }
    const options = { method, headers, body: body && JSON.stringify(body) }
    const response = await fetch(this.told.gateway_url + target, options)
    return response.json()
  }

  async stop() {
    if (this.process.exitCode === null) {
      const ended = new Promise((resolve) => this.process.once('exit', resolve))
      this.process.kill('SIGTERM')
      await within('the sandbox ends', ended)
    }
    await rm(this.dir, { recursive: true, force: true })
  }

  env() {
    const inherited = Object.entries(process.env).filter(([name]) => !/^(IDGATE|OID4VP)_/.test(name))
    return { ...Object.fromEntries(inherited), IDGATE_LOG: 'warn', TMPDIR: this.dir }
  }
}
