/** One request for `navigator.credentials.get`. */
export interface DigitalRequest {
  protocol: string
  data: object
}

/** Your server's answer when a verification starts. */
export interface Begun {
  /** Your own id of the verification, never the session's. */
  id: string
  /** The `dc_api` that the gateway returned for the session. */
  dc_api?: { requests: DigitalRequest[] }
  /** Anything else that your page shows: a link, a code, `page_url`. */
  [more: string]: unknown
}

export interface StartOptions {
  body?: unknown
  headers?: Record<string, string>
}

export interface VerificationEvents {
  status: CustomEvent<{ status: string }>
  /** The browser's error. Browsers do not give the cause. */
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
  /** Opens the browser's dialogue, in a click handler; `undefined` if there is none or it was closed. */
  ask(): Promise<Outcome | undefined>
  /** Follows your server's status events until the outcome. */
  follow(): this
  /** The outcome, as your server reports it. */
  outcome(): Promise<Outcome>
  /** Stops following, and closes an open dialogue. */
  stop(): void
  addEventListener<Name extends keyof VerificationEvents>(
    name: Name,
    listener: (event: VerificationEvents[Name]) => void,
    options?: boolean | AddEventListenerOptions,
  ): void
}

/** Starts a verification at your server. */
export function start<Outcome = unknown>(url: string, options?: StartOptions): Promise<Verification<Outcome>>

/** Runs a verification from the click to the outcome. */
export function verify<Outcome = unknown>(
  url: string,
  options?: StartOptions & { fallback?: (verification: Verification<Outcome>) => void | Promise<void> },
): Promise<Outcome>
