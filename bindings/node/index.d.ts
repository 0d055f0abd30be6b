/// <reference lib="esnext.disposable" />
/** Verifies digital identity and age credentials that wallets present over OpenID4VP. */

type Json = Record<string, unknown>;
type Data = string | Uint8Array;

/** Something is refused or wrong. The message never carries claim values, tokens or keys. */
export class IdgateError extends Error {
  constructor(
    kind: ErrorKind,
    code: string,
    message: string,
    path?: string,
    clause?: string | null,
  );
  /** Who must act. */
  readonly kind: ErrorKind;
  /** Stable, and the same that the gateway uses, as `nonce_mismatch`. */
  readonly code: string;
  /** The field of a request that breaks a rule, as `credentials[0].claims[2]`; else empty. */
  readonly path: string;
  /** The clause of the standard that a presentation does not meet, as `RFC 9901 7.3`. */
  readonly clause: string | null;
}

export type ErrorKind =
  | 'refused'
  | 'bad_request'
  | 'bad_response'
  | 'config'
  | 'misuse'
  | 'unavailable'
  | 'nothing'
  | 'internal';

/** Something in the library that is given back: by `using`, `await using`, `close()` or in the end. */
interface Closable {
  /** Gives it back now. What was made with it goes on working. */
  close(): void;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface IssuerOptions {
  /** The value that `iss` must have; default: the issuer id when it is a URL or a DID. */
  iss?: string;
  /** Accepted types of SD-JWT VC; none: any. */
  vct?: string[];
  /** Accepted document types of mdoc; none: whatever the request names. */
  docTypes?: string[];
  namespaces?: string[];
  claims?: string[];
  countries?: string[];
  ekus?: string[];
  /**
   * The extended key usages of which the certificate of an SD-JWT VC issuer must have one; none: any,
   * but one that is for other things alone, as serverAuth.
   */
  sdJwtEkus?: string[];
  revocation?: 'if_published' | 'required' | 'off';
  /** How many days a status list token without `exp` counts after its `iat`; none: 7. */
  statusMaxAgeDays?: number;
  /** Test-mode sessions take an mDL whose issuing_country is not its signer's, and say so. */
  issuingCountryUnbound?: boolean;
  /** For 1.0 and haip: where claims of an SD-JWT VC stand; `null` is every element of an array. */
  claimPaths?: Record<string, readonly (string | null)[]>;
  /** For 1.0 and haip: queries name the roots. */
  aki?: boolean;
  /** For 1.0 and haip: how many documents a DeviceResponse may have; none: one. */
  deviceResponseDocuments?: 'one' | 'any';
}

export interface MaterialOptions {
  testOnly?: boolean;
  now?: Date;
}

export interface ListOptions {
  /** Vouches for the signer of the list; without it the list is for tests only. */
  signerCa?: Data;
  testOnly?: boolean;
  /** VICAL: take it though a newer one is due. */
  allowStale?: boolean;
  now?: Date;
}

/** What became of one certificate of a list. */
export interface ListedCertificate {
  sha256: string;
  subject: string;
  country: string | null;
  key: string;
  expired: boolean;
  skippedBecause: string | null;
}

/**
 * The next one of the issuer is of that type, below a CA signed for that organization, and not older:
 * remember the three, and hold a list to them after a restart.
 */
export interface TrustedList {
  listType: 'pid' | 'mdl' | 'pub-eaa';
  sequence: number;
  issuedAt: Date;
  /** From then on it vouches for nobody. */
  nextUpdate: Date;
  organization: string | null;
  providers: ListedProvider[];
  certificates: ListedCertificate[];
}

/** A provider of a trusted list. */
export interface ListedProvider {
  name: string;
  identifier: string | null;
  country: string | null;
}

/** Whom a trusted list says that the issuer is: one provider, or `candidates`, which it may be. */
export type Provider = (ListedProvider | { candidates: ListedProvider[] }) & {
  listType: 'pid' | 'mdl' | 'pub-eaa';
  listSequence: number;
};

export interface Expected {
  format: 'vc+sd-jwt' | 'mso_mdoc';
  issuerId: string;
  /** Exactly as sent. */
  clientId: string;
  /** Yours, used once. */
  nonce: string;
  claims?: string[];
  /** mdoc. */
  responseUri?: string;
  /** mdoc. */
  docType?: string;
  /** mdoc. */
  namespace?: string;
  /** mdoc in an encrypted answer: the JWK that it was encrypted to, with `d` for a device MAC. */
  encKey?: { kty: string; crv: string; x: string; y: string; d?: string };
  /** mdoc in an encrypted answer: `apu` of its header. */
  apu?: string;
  alg?: 'ES256' | 'ES384' | 'ES512';
  livemode?: boolean;
  /** SD-JWT VC: older proofs are stale. */
  requestedAt?: Date;
  /** Tells what was checked, too, for records. */
  checks?: boolean;
  now?: Date;
}

/** One check that was made, with the clause that demands it. */
export interface Check {
  group: string;
  check: string;
  clause: string;
  passed: boolean;
}

/** A presentation that passed every check: the claims asked for, and what is known beside. */
export interface Presentation {
  claims: Json;
  credentialType: string;
  issuer: string | null;
  alg: string;
  holderBinding: string;
  trust: string;
  /** There when a trusted list vouches for the issuer. */
  provider?: Provider;
  sessionTranscript: string | null;
  validFrom: Date | null;
  validUntil: Date | null;
  revocation: string;
  /** Of the credential and of the certificate that signed it, apart. */
  revocationDetails: { credential: RevocationOutcome; signer: RevocationOutcome };
  /** There, and true, when the entry's `issuingCountryUnbound` was made use of. */
  issuingCountryUnbound?: boolean;
  /** When they were asked for. */
  checks?: Check[];
}

/** A bare key publishes nothing. */
export type RevocationOutcome = 'good' | 'not_published' | 'off';

/** A collection of trust entries; an empty one trusts nobody. */
export class Trust implements Closable {
  /** Adds an entry without material, or replaces the entry of that name. */
  addIssuer(issuerId: string, options?: IssuerOptions): void;
  /** Public keys of an SD-JWT VC issuer: a JWK or a JWK Set. */
  addJwk(issuerId: string, jwk: Data | object, options?: MaterialOptions): void;
  addPublicKey(issuerId: string, pem: Data, options?: MaterialOptions): void;
  /** X.509 roots of mdoc issuers, PEM or DER, one or many. */
  addRoots(issuerId: string, file: Data, options?: MaterialOptions): void;
  /** Roots of SD-JWT VC issuers whose certificates come in `x5c`. */
  addSdJwtRoots(issuerId: string, file: Data, options?: MaterialOptions): void;
  /** Certificates of SD-JWT VC issuers that are trusted without a root. */
  addSdJwtSigners(issuerId: string, file: Data, options?: MaterialOptions): void;
  /** Roots below which status lists may be signed, besides the one that vouched. */
  addStatusRoots(issuerId: string, file: Data, options?: MaterialOptions): void;
  /** mdoc document signers that are trusted without a root, PEM or DER. */
  addPinnedSigners(issuerId: string, file: Data, options?: MaterialOptions): void;
  /** CRLs of roots that were added before. They replace the fetch. */
  addCrls(issuerId: string, file: Data, options?: { now?: Date }): void;
  /** The roots of an ICAO Master List. */
  addMasterList(issuerId: string, file: Uint8Array, options?: ListOptions): ListedCertificate[];
  /** The roots of a VICAL. */
  addVical(issuerId: string, file: Uint8Array, options?: ListOptions): ListedCertificate[];
  /** A European trusted list, in place of the one before. */
  addTrustedList(
    issuerId: string,
    file: string | Uint8Array,
    options?: ListOptions,
  ): TrustedList;
  /** Verifies one presentation as it stands in `vp_token`. Throws an IdgateError when refused. */
  verify(presentation: string, expected: Expected): Presentation;
  /** The same on a worker thread. */
  verifyAsync(presentation: string, expected: Expected): Promise<Presentation>;
  close(): void;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Why a wallet presented nothing (OpenID4VP 8.5); whatever else it says is `other`. */
export type WalletError =
  | 'access_denied'
  | 'invalid_request'
  | 'invalid_client'
  | 'vp_formats_not_supported'
  | 'invalid_request_uri_method'
  | 'invalid_transaction_data'
  | 'wallet_unavailable'
  | 'invalid_scope'
  | 'invalid_request_uri'
  | 'invalid_request_object'
  | 'request_uri_not_supported'
  | 'processing_error'
  | 'other';

/** What a request speaks: `draft`, OpenID4VP 1.0, or that within HAIP 1.0. */
export type Profile = 'draft' | '1.0' | 'haip';

/** One request of a session. The first answer to any of them settles the session. */
export interface Offer {
  /** What `requestObject` and `begin` take as `offer`; null: the session's own. */
  id: string | null;
  profile: Profile;
  /** Whom a holder's proof is for. */
  clientId: string;
  /** Where the wallet posts its answer. */
  responseUri: string;
  /** Where the wallet fetches the Request Object; null: the request travels by value. */
  requestUri: string | null;
  /** This request by scheme, while a wallet can answer. */
  deepLinks: Record<string, string>;
}

/** A protocol of the Digital Credentials API. */
export type Protocol =
  | 'openid4vp-v1-unsigned'
  | 'openid4vp-v1-signed'
  | 'openid4vp-v1-multisigned'
  | 'org-iso-mdoc';

/** What a page passes to its browser: `Verifier.dcApiRequests` gives it. */
export interface BrowserOffer {
  profile: Profile;
  /** Where the page may be from. */
  origins: string[];
  /** What it passes on, in that order. */
  protocols: Protocol[];
}

/** What a page passes to `navigator.credentials.get` as `digital`. */
export interface DcApiRequests {
  requests: { protocol: Protocol; data: Record<string, unknown> }[];
}

export interface SessionInfo {
  sessionId: string;
  tenant: string;
  livemode: boolean;
  status: 'CREATED' | 'PENDING' | 'VERIFYING' | 'VERIFIED' | 'FAILED' | 'EXPIRED';
  /** Why it ended, when FAILED or EXPIRED. */
  reason: string | null;
  /** What the wallet said, when the reason is `wallet_error`. */
  walletError: WalletError | null;
  /** Counts commits. */
  revision: number;
  createdAt: Date;
  expiresAt: Date;
  settledAt: Date | null;
  /** For a QR code, while a wallet can answer. */
  qrCodeUrl: string | null;
  /** By scheme, `openid4vp`, `eudi-wallet`, `haip`, the request for wallets that have it. */
  deepLinks: Record<string, string>;
  /** Its requests behind links, in the order of their profiles. */
  offers: Offer[];
  /** Its request to browsers, when it was made with `dc_api`. */
  dcApi: BrowserOffer | null;
}

/** What a VERIFIED session came to. */
export interface Result {
  claims: Json;
  verificationDetails: Json;
}

/** One verification at one revision; it never changes. */
export class Session implements Closable {
  private constructor();
  /** The session of `snapshot()`, with its result when you kept that. */
  static restore(snapshot: Uint8Array, result?: Uint8Array | null): Session;
  /** For your database. It holds nonce, state and keys: seal it. */
  snapshot(): Uint8Array;
  /** The result, to survive a restart. It holds claims: seal it, erase it after 30 s. */
  resultSnapshot(now?: Date): Uint8Array | null;
  info(now?: Date): SessionInfo;
  /** Until 30 seconds after verification, whose browser it is for or not: see `resultFor`. */
  result(now?: Date): Result | null;
  /**
   * The same for whoever brings `responseCode`: what the person's browser had in the query of your
   * `redirect_uri`, null when it had none. Where the person has to come back into the session that
   * asked (every session that offers `haip` but with `same_device` false in the request, and wherever
   * that is true), there is no result for a code that is missing or another. Other sessions need none.
   */
  resultFor(responseCode: string | null, now?: Date): Result | null;
  /** The person followed the link: CREATED becomes PENDING. */
  followed(now?: Date): Transition | null;
  /** What the time has made of it: EXPIRED, or PENDING after a verification given up. */
  due(now?: Date): Transition | null;
  /**
   * Gives up a verification of yours before its time is over, by a fault of your own: PENDING again, or
   * EXPIRED, so that the same answer is taken later. Of the session of `Ask`'s `hold`, once committed.
   */
  released(now?: Date): Transition | null;
  close(): void;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * A change to commit: store `session.snapshot()` where the stored revision still is
 * `fromRevision` (0: insert). Where it is another, somebody else was faster: give this one up.
 */
export interface Transition {
  readonly fromRevision: number;
  readonly session: Session;
  readonly effects: Json[];
}

/** A fresh P-256 key, 32 bytes. Keep it sealed. */
export function generateSigningKey(): Uint8Array;

/** Signs Request Objects. */
export class Signer implements Closable {
  /** Signs with a key of `generateSigningKey()`. */
  constructor(baseUrl: string, key: Uint8Array);
  /**
   * Signs through a function, as with an HSM: 64 bytes of the raw ES256 signature, at once. It is
   * called on the thread that calls `requestObject`, and cannot wait for a promise.
   */
  static external(
    baseUrl: string,
    publicKey: Data | object,
    sign: (input: Uint8Array) => Uint8Array,
  ): Signer;
  /**
   * The same key with a certificate (PEM or DER, then those that lead up from it), checked for use
   * at `now`. It signs requests that name you by it (`x509_san_dns`, `x509_hash` and all of
   * `haip`), and no others.
   */
  certified(chain: Data, options?: { now?: Date }): Signer;
  /**
   * Checks a registration certificate (`rc-wrp+jwt`) for use at `now` beside the certificate of this
   * signer, one of `certified`: the dates, and that both are of one party. Its signature is for
   * wallets to verify.
   */
  checkRegistration(jwt: string, options?: { now?: Date }): Registration;
  /** The public JWK, to be published. */
  publicKey(): Json;
  close(): void;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The DID document, to be served at `/.well-known/did.json`. */
export function didDocument(baseUrl: string, keys: object[]): Json;
/** The JWK Set of the same keys, to be served at `/.well-known/jwks.json`. */
export function jwks(baseUrl: string, keys: object[]): { keys: Json[] };

/** What a registration certificate says of itself. */
export interface Registration {
  /** The party. */
  subject: string;
  issuedAt: Date | null;
  /** None: it does not say. */
  expiresAt: Date | null;
  /** Whether the signer's certificate has an organizationIdentifier, which is the party then. */
  compared: boolean;
}

/** A registration certificate beside a request. */
export interface Comparison {
  /** Whether it goes to wallets: where a request of the session is signed under `x509_hash`. */
  sent: boolean;
  /** Whether it would, had it not expired. */
  expired: boolean;
  /** What is asked for and is not registered. Wallets warn of it, or refuse. */
  beyond: string[];
}

export interface VerifierOptions {
  /** Of several, the first that fits signs. */
  signer?: Signer | Signer[];
  /** They sign for the sessions that were made with them. */
  former?: Signer[];
  /** What sessions may speak; the first is for requests that name none. None: `draft`. */
  profiles?: Profile[];
  /** How requests of `draft` and `1.0` go; none: `jar` when there is a signer. */
  requestMode?: 'inline' | 'jar';
  /** Who signed requests of `1.0` say that you are; none: `did`. */
  clientId?: 'did' | 'x509_san_dns' | 'x509_hash';
  /** How answers of `1.0` come; none: `auto`, which encrypts when the request is signed. */
  responseMode?: 'auto' | 'direct_post' | 'direct_post.jwt';
  /** Links say that wallets may POST for the request. */
  requestUriMethod?: 'post';
  /**
   * What pages pass to their browser, in all profiles but `draft`; none: `off`. `signed` has the
   * unsigned request behind it, `multisigned` both; they are signed under `clientId`, in `haip` under
   * `x509_hash`, and multi-signed in `1.0` under each that somebody can sign.
   */
  dcApi?: 'off' | 'unsigned' | 'signed' | 'multisigned';
  trustVersion?: number;
  /**
   * Who fetches status lists and CRLs that credentials name. None, or `true`: the library, from public
   * addresses. A `Fetcher` of yours reaches others as well. `false`: nobody; then such a credential is
   * refused (`revocation_unknown`) unless you fetch yourself.
   */
  fetch?: boolean | Fetcher;
}

/**
 * Fetches status lists and CRLs, and remembers them for as long as they say, a day at most: 1,024 of
 * them, and 64 MiB. While a source is down, its copy serves up to 24 hours beyond the time that the
 * source said, but never past its own end: a CRL to its nextUpdate, however distant. One serves any
 * number of verifiers at once: make one and keep it. A name is resolved once, and the connection goes
 * to an address that was checked. Redirects are checked in the same way; bodies have 10 MiB; all
 * fetches of one answer have 5 seconds together. No proxy is used, whatever the environment says.
 */
export class Fetcher implements Closable {
  constructor(options?: {
    /** Ranges that may be reached besides public addresses, as `10.0.0.0/8`. */
    allow?: string[];
    /** In PEM: who vouches for https servers, besides the roots of the operating system. */
    roots?: Data;
  });
  close(): void;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A configured verifier: make a new one to change trust. */
export class Verifier implements Closable {
  /**
   * Without `signer`, requests are unsigned and by value; with one, they are signed and by
   * reference, and answers are encrypted. `haip` needs one of `Signer.certified`.
   */
  constructor(baseUrl: string, trust: Trust, options?: VerifierOptions);
  /**
   * Makes a session from a CreateSessionRequest. Commit it before you show its link. `registration`,
   * a registration certificate, goes to wallets as `verifier_info` where `compareRegistration` says
   * so; with `strict` a request that asks for more, or whose certificate has expired, is refused.
   */
  createSession(
    request: Data | object,
    options?: {
      tenant?: string;
      livemode?: boolean;
      registration?: string;
      strict?: boolean;
      now?: Date;
    },
  ): Transition;
  /** What becomes of a registration certificate with this request. */
  compareRegistration(
    registration: string,
    request: Data | object,
    options?: { livemode?: boolean; now?: Date },
  ): Comparison;
  /** To be served as `application/oauth-authz-req+jwt`, after the transition is committed. */
  requestObject(
    session: Session,
    options?: { offer?: string | null; walletNonce?: string; now?: Date },
  ): { jwt: string; transition: Transition | null };
  /** Takes a wallet's answer. Throws a `bad_response` when it changes nothing. */
  begin(
    session: Session,
    body: Uint8Array,
    contentType: string | null,
    options?: { offer?: string | null; now?: Date },
  ): Verification;
  /**
   * What a page passes to `navigator.credentials.get` as `digital`, of a session whose request had
   * `dc_api`, as `{ origins: ['https://shop.example'] }`: name origins of your own, whose pages may
   * ask. Throws a `bad_response` when the session has none or takes no answer any more.
   */
  dcApiRequests(session: Session, options?: { now?: Date }): DcApiRequests;
  /**
   * Takes what the page got: the credential, an object with `protocol` and `data`. It is good for a
   * page from one of the session's origins, and `verificationDetails` say from which; nothing in it is
   * believed about that. Throws a `bad_response` when it changes nothing.
   */
  beginDcApi(session: Session, answer: Data | object, options?: { now?: Date }): Verification;
  close(): void;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A source to be fetched before a verdict is possible. Its URI comes from signed material. */
export interface Need {
  readonly index: number;
  readonly kind: 'status_list' | 'crl' | 'identifier_list';
  readonly uri: string;
  /** The `Accept` header to fetch it with. Add nothing to it: some hosts compare it as a whole. */
  readonly accept: string;
  /** The same to fetch it with once more after 404, 406 or 415; `null`: there is no other form. */
  readonly acceptOtherwise: string | null;
}

/** Everything but the status is good. Commit `hold`, fetch all needs at once, supply them. */
export interface Ask {
  readonly kind: 'need';
  readonly hold: Transition;
  readonly needs: Need[];
}

/** Which checks of an answer were made, presentation by presentation, and what failed. */
export interface Report {
  /** The rule and its clause; null: nothing did. */
  failed: string | null;
  credentials: Check[][];
}

/** Commit `transition`, then answer the wallet. */
export interface Decision {
  readonly kind: 'done';
  readonly transition: Transition;
  /** `accepted`, `error_noted`: 200 with `body`; `refused`: 400 `invalid_presentation`. */
  readonly reply: 'accepted' | 'error_noted' | 'refused';
  /** What the wallet is answered with, as JSON and as its profile has it; null when refused. */
  readonly body: { status?: 'ok'; redirect_uri?: string } | null;
  readonly redirectUri: string | null;
  readonly status: 'VERIFIED' | 'FAILED';
  /** Why it is FAILED, for you and never for the wallet. */
  readonly reason: string | null;
  /** What the wallet said, when the reason is `wallet_error`. */
  readonly walletError: WalletError | null;
  /** Which checks were made and what failed, for operators. */
  readonly report: Report;
}

/** A wallet's answer under verification. */
export class Verification implements Closable {
  private constructor();
  /** Goes as far as possible without the world. */
  step(): Ask | Decision;
  /** The same on a worker thread. */
  stepAsync(): Promise<Ask | Decision>;
  /** Gives back what came of a need; `null`: nothing that can be used came in time. */
  supply(need: Need, body: Uint8Array | null, now?: Date): void;
  /**
   * Steps to the end, on worker threads: commits the hold before the first fetch, and fetches all needs
   * at once; what is known and fresh is neither held nor fetched. A `fetch` of your own takes the place
   * of the verifier's. The decision's own transition is yours to commit. Throws an IdgateError of kind
   * `unavailable` when a source could not be asked by a fault of this machine. Whatever fails once the
   * hold was committed, it is given back, so that the wallet may come again, and the first error is
   * the one that is thrown.
   */
  decide(world: {
    commit(hold: Transition): void | Promise<void>;
    fetch?(need: Need): Uint8Array | null | Promise<Uint8Array | null>;
  }): Promise<Decision>;
  close(): void;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export namespace webhook {
  const TOLERANCE_MS: number;
  /** The headers of one attempt to deliver `body`; `number` counts from 1. */
  function headers(
    secret: string,
    attempt: {
      id: string;
      number: number;
      body: Data;
      previousSecret?: string;
      now?: Date;
    },
  ): Record<string, string>;
  /** Throws an IdgateError when the notification is not to be believed. */
  function verify(
    secret: string,
    headers: Record<string, string | string[] | undefined>,
    body: Data,
    options?: { now?: Date; toleranceMs?: number },
  ): void;
}
