// Settings, input and output for both TypeScript flows.

import { createInterface } from 'node:readline'

export function setting(name: string): string {
  return process.env[name] ?? ''
}

/** Resolves when the line comes that says so. */
export function answered(): Promise<unknown> {
  const lines = createInterface({ input: process.stdin })
  return new Promise((resolve) => lines.once('line', resolve)).finally(() => lines.close())
}
