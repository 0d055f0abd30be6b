/** One request for `navigator.credentials.get`. */
export interface DigitalRequest {
  protocol: string
  data: object
}

/** What your server answers to the start. */
export interface Begun {
  /** Your own name of the verification; never the session's. */
  id: string
  /** `dc_api` of the session, as the gateway gave it. */
  dc_api?: { requests: DigitalRequest[] }
  /** Whatever your page shows besides: a link, a code, `page_url`. */
  [more: string]: unknown
}

export interface StartOptions {
  body?: unknown
  headers?: Record<string, string>
}

export interface VerificationEvents {
  status: CustomEvent<{ status: string }>
  /** What the browser said; browsers do not tell why. */
  cancelled: CustomEvent<unknown>
  outcome: CustomEvent<unknown>
  failed: CustomEvent<Error>
}

/** Whether this browser has a dialogue for any of these requests. */
export function canAsk(requests?: DigitalRequest[]): boolean

/** One verification. */
export class Verification<Outcome = unknown> extends EventTarget {
  constructor(url: string, begun: Begun)
  readonly begun: Begun
  /** Asks through the browser's own dialogue, in a click; `undefined`: there is none, or it was closed. */
  ask(): Promise<Outcome | undefined>
  /** Follows what your server tells until the outcome. */
  follow(): this
  /** What came of it, as your server says it. */
  outcome(): Promise<Outcome>
  /** Follows no more, and closes a dialogue that is open. */
  stop(): void
  addEventListener<Name extends keyof VerificationEvents>(
    name: Name,
    listener: (event: VerificationEvents[Name]) => void,
    options?: boolean | AddEventListenerOptions,
  ): void
}

/** Begins a verification at your server. */
export function start<Outcome = unknown>(url: string, options?: StartOptions): Promise<Verification<Outcome>>

/** From the click to the outcome. */
export function verify<Outcome = unknown>(
  url: string,
  options?: StartOptions & { fallback?: (verification: Verification<Outcome>) => void | Promise<void> },
): Promise<Outcome>
