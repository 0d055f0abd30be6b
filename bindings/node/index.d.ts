/// <reference lib="esnext.disposable" />
/** Verifies digital identity and age credentials that wallets present over OpenID4VP. */

/** Bytes, or text: PEM and JSON are text. */
export type Data = string | Uint8Array;
export type Claims = Record<string, unknown>;
export type Alg = 'ES256' | 'ES384' | 'ES512';
/** `live`, or a test, which also takes material for tests. */
export type Mode = 'live' | 'test';

/** An object of the library, which is given back by `using`, `await using`, `close()` or in the end. */
interface Closable {
  /** Gives it back now. Objects that were made with it go on working. */
  close(): void;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

interface At {
  /** The present, for tests; by default the clock's. */
  now?: Date | null;
}

/** A reply to a wallet. Its body may have a response code or a nonce: keep it out of logs. */
export interface HttpReply {
  readonly status: number;
  /** By lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

// Errors. A value of a wrong type is a `TypeError`, and so is a closed object.

/** Every other error of this package. The message never carries claim values, tokens or keys. */
export class IdgateError extends Error {
  protected constructor();
  /** Stable, for example `nonce_mismatch`. Codes of requests, answers and refusals are those of the gateway. */
  readonly code: string;
}

/** The request breaks a rule. */
export class RequestInvalid extends IdgateError {
  private constructor();
  /** The field in the spelling of the request, for example `credentials[0].claims[2]`; empty: the whole request. */
  readonly path: string;
  /** The rule that is broken, and what to do. */
  readonly rule: string;
  /** What you can do, where that is something of yours: the trust, or an option of the verifier. */
  readonly hint?: string;
}

/** Trust, a key, a certificate or an option cannot be used. */
export class Misconfigured extends IdgateError {
  private constructor();
  /** Whose material it is; null: it is not an issuer's. */
  readonly issuer: string | null;
  /** For example `iacaRoots[0]`. */
  readonly field: string | null;
  /** The fault, for example `is neither PEM nor DER`. */
  readonly why: string;
  /** What you can do, where that is known. */
  readonly hint?: string;
}

/** A presentation or a notification was evaluated, and is not to be believed. */
export class Refused extends IdgateError {
  private constructor();
  readonly reason: Reason | 'invalid_webhook';
  /** The check that failed. */
  readonly check: string;
  /** The clause that demands it, for example `RFC 9901 7.3`. */
  readonly clause: string;
  /** What you can do, where that is something. */
  readonly hint?: string;
}

/** What came changes nothing: there is nothing to store. */
export class NotAnAnswer extends IdgateError {
  private constructor();
  readonly httpStatus: number;
  /** The reply to the wallet. */
  readonly http: HttpReply;
}

/** There is no result for this reader. */
export class Withheld extends IdgateError {
  private constructor();
  readonly reason: 'not_verified' | 'response_code_missing' | 'response_code_wrong' | 'redacted';
}

/** The random source, the signer or a status source could not be asked by a fault of this machine: try again. */
export class NotAvailable extends IdgateError {
  private constructor();
  /** In seconds. */
  readonly retryAfter: number;
  /** The reply to the wallet. */
  readonly http: HttpReply;
}

/** A fault of idgate. */
export class InternalError extends IdgateError {
  private constructor();
}

/** Why a presentation is refused, and why a session is FAILED or EXPIRED. */
export type Reason =
  | 'issuer_signature_invalid'
  | 'untrusted_issuer'
  | 'chain_invalid'
  | 'certificate_expired'
  | 'certificate_revoked'
  | 'revocation_unknown'
  | 'credential_expired'
  | 'credential_not_yet_valid'
  | 'credential_revoked'
  | 'credential_suspended'
  | 'holder_binding_missing'
  | 'holder_binding_invalid'
  | 'nonce_mismatch'
  | 'audience_mismatch'
  | 'kb_jwt_stale'
  | 'sd_hash_mismatch'
  | 'digest_mismatch'
  | 'device_auth_invalid'
  | 'doc_type_mismatch'
  | 'type_mismatch'
  | 'algorithm_not_allowed'
  | 'claim_missing'
  | 'claim_filter_mismatch'
  | 'subject_mismatch'
  | 'submission_mismatch'
  | 'malformed_presentation'
  | 'limit_exceeded'
  | 'wallet_error'
  | 'session_expired'
  | 'transaction_data_mismatch'
  | 'client_revoked'
  | 'cancelled';

/** Why a wallet presented nothing (OpenID4VP 8.5); `other` is anything else that it says. */
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

// Trust.

/** A path to a claim: `['address', 'locality']`; `null` is every element of an array. */
export type Path = readonly [string, ...(string | null)[]];

/**
 * An issuer that you trust: which credentials it may issue, and the keys and certificates that they are verified
 * with. Certificates and CRLs are PEM or DER, one or many.
 */
export interface Issuer {
  /** The name that requests use for it. Where it is a URL or a DID, `iss` of credentials must be the same. */
  id: string;

  /** Public keys of an SD-JWT VC issuer: a JWK or a JWK Set. */
  jwk?: Some<Data | object>;
  /** The same in PEM. */
  publicKeyPem?: Some<Data>;
  /** X.509 roots of mdoc document signers. */
  iacaRoots?: Some<Data>;
  /** Certificates of mdoc document signers that are trusted without a root. */
  mdocSigners?: Some<Data>;
  /** X.509 roots of SD-JWT VC issuers whose certificates come in `x5c`. */
  x5cRoots?: Some<Data>;
  /** Certificates of SD-JWT VC issuers that are trusted without a root. */
  x5cSigners?: Some<Data>;
  /** X.509 roots below which status lists may be signed, in addition to the one of the credential. */
  statusRoots?: Some<Data>;
  /** CRLs of the roots above. They replace the fetch. */
  crls?: Some<Data>;
  /** The roots of a VICAL. */
  vical?: Some<Data | ListFile>;
  /** The roots of an ICAO Master List. */
  masterList?: Some<Data | ListFile>;
  /** The providers of a European trusted list. */
  trustedList?: Some<Data | ListFile>;
  /** All of its material serves test-mode sessions only. */
  testOnly?: boolean;

  /** Accepted types of SD-JWT VC; none: any. */
  vcts?: string[];
  /** Accepted document types of mdoc; none: the one that a request names. */
  docTypes?: string[];
  /** Namespaces of an mdoc that a request may leave unnamed. */
  namespaces?: string[];
  /** Where claims of its SD-JWT VCs are, if they are not members of the payload by their name. Not for `draft`. */
  claimPaths?: Record<string, Path>;
  /** Claims for a request that names this issuer alone. */
  defaultClaims?: string[];
  /** The value that `iss` must have. */
  iss?: string;
  /** `iss` is not compared. */
  anyIss?: boolean;
  /** Countries whose roots serve; none: any. */
  countries?: string[];
  /** Extended key usages that make an mdoc document signer; none: that of the mDL. */
  mdocEkus?: string[];
  /** Extended key usages of which the certificate of an SD-JWT VC issuer must have one. */
  x5cEkus?: string[];

  /** None: `if_published`. */
  revocation?: 'if_published' | 'required' | 'off';
  /**
   * The treatment of a credential whose status list cannot be had; none: `refuse`. Not with `required`. With `tenant`
   * the request of a session chooses.
   */
  onUnknownRevocation?: 'refuse' | 'accept' | 'tenant';
  /** How long a status list without `exp` counts after its `iat`, 1 to 3650; none: 7. */
  statusMaxAgeDays?: number;
  /** Queries name its roots, so that wallets look only for credentials below them. */
  namedInQueries?: boolean;
  /** URLs of trusted lists that queries name, so that wallets look only for credentials of their providers. */
  trustedListUrls?: string[];
  /** How many documents the DeviceResponse of an mdoc may have, in `1.0` and `haip`; none: one. */
  deviceResponseDocuments?: 'one' | 'any';
  /** Test-mode sessions take an mDL whose issuing_country is not its signer's, and say so. */
  issuingCountryUnbound?: boolean;
}

/** One, or several. */
type Some<T> = T | T[];

/** A list of certificates, and the rules that it is taken by. */
export interface ListFile {
  file: Data;
  /** The CA below which its signer must be. Without it the list is for a `testOnly` issuer. */
  signedBelow?: Data;
  /** Take a VICAL or a trusted list although a newer one is due. */
  allowStale?: boolean;
  now?: Date;
}

/** What became of a list that an issuer was given. */
export interface ListReport {
  readonly issuerId: string;
  readonly field: 'vical' | 'masterList' | 'trustedList';
  readonly certificates: ListedCertificate[];
  /** Of a trusted list, and so are those below. */
  readonly listType?: 'pid' | 'mdl' | 'pub-eaa';
  readonly sequence?: number;
  readonly issuedAt?: Date;
  /** From then on it no longer counts. */
  readonly nextUpdate?: Date;
  readonly organization?: string | null;
  readonly providers?: ListedProvider[];
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

/** A provider of a trusted list. */
export interface ListedProvider {
  name: string;
  identifier: string | null;
  country: string | null;
}

/** The provider that a trusted list names, or `candidates`, of which the issuer is one. */
export type Provider = (ListedProvider | { candidates: ListedProvider[] }) & {
  listType: 'pid' | 'mdl' | 'pub-eaa';
  listSequence: number;
};

/** What a presentation must be. */
export type Expected = ExpectedSdJwtVc | ExpectedMdoc;

interface ExpectedOfAny {
  issuerId: string;
  /** Exactly as sent. */
  clientId: string;
  /** Yours, used once. */
  nonce: string;
  /** The claims that must be there. Only these come back. */
  claims?: string[];
  alg?: Alg;
  /** None: `live`. */
  mode?: Mode;
}

export interface ExpectedSdJwtVc extends ExpectedOfAny {
  format: 'dc+sd-jwt' | 'vc+sd-jwt';
  /** When you sent the request. Older proofs are stale; none: now. */
  sentAt?: Date;
  /** Where claims are, if they are not members of the payload by their name. */
  claimPaths?: Record<string, Path>;
}

interface ExpectedMdocOfAny extends ExpectedOfAny {
  format: 'mso_mdoc';
  docType: string;
  namespace: string;
  /** That of the request; none: `1.0`. */
  profile?: Profile;
  /** Of an encrypted answer: the JWK that it was encrypted to, with `d` for a device MAC, which `draft` has. */
  encKey?: { kty: string; crv: string; x: string; y: string; d?: string };
  /** Of an encrypted answer in `draft`: `apu` of its header. */
  apu?: string;
}

/** The wallet posted it to `responseUri`, or a page from `origin` got it from its browser. */
export type ExpectedMdoc =
  | (ExpectedMdocOfAny & { responseUri: string; origin?: never })
  | (ExpectedMdocOfAny & { origin: string; responseUri?: never });

/** One check that was made, with the clause that demands it. */
export interface Check {
  readonly group: string;
  readonly check: string;
  readonly clause: string;
  readonly passed: boolean;
}

/** What is known of a credential that passed every check. */
export interface Facts {
  readonly credentialType: string;
  readonly issuer: string | null;
  readonly alg: Alg;
  readonly holderBinding: 'kb_jwt' | 'device_signature' | 'device_mac';
  readonly trust: 'issuer_key' | 'x5chain' | 'pinned_signer' | 'listed_signer';
  /** There where a trusted list names the issuer. */
  readonly provider?: Provider;
  readonly sessionTranscript?: string | null;
  readonly validFrom: Date | null;
  readonly validUntil: Date | null;
  readonly revocation: 'good' | 'signer_good' | 'not_published' | 'off' | 'unknown';
  /** Of the credential and of the certificate that signed it. A bare key publishes nothing. */
  readonly revocationDetails: { credential: RevocationOutcome; signer: RevocationOutcome };
  /** There, and true, where the issuer's `issuingCountryUnbound` was made use of. */
  readonly issuingCountryUnbound?: boolean;
  /** There where it applied: OIDs of extensions of the signer's certificate that cannot be read and were tolerated. */
  readonly tolerated?: readonly string[];
}

export type RevocationOutcome = 'good' | 'not_published' | 'off' | 'unknown';

/** A presentation that passed every check. */
export interface Presentation<C = Claims> {
  readonly claims: C;
  readonly facts: Facts;
  /** Where they were asked for. */
  readonly checks?: Check[];
}

/** The outcome of a check. */
export type Verdict<C = Claims> =
  | ({ readonly ok: true } & Presentation<C>)
  | { readonly ok: false; readonly refused: Refused };

/**
 * How status lists and CRLs that credentials name are fetched. `true`: by the library, from public addresses. A
 * `Fetcher` of yours reaches others as well. A function fetches itself; with `null`, nothing that can be used came in
 * time. `false`: not at all; then such a credential is refused (`revocation_unknown`).
 */
export type Fetch = boolean | Fetcher | ((need: Need) => Uint8Array | null | Promise<Uint8Array | null>);
/** One that does not wait. */
export type SyncFetch = boolean | Fetcher | ((need: Need) => Uint8Array | null);

export interface VerifyOptions extends At {
  /** None: `true`. */
  fetch?: Fetch;
  /** Gives the checks that were made, for records. */
  checks?: boolean;
}

export interface VerifySyncOptions extends VerifyOptions {
  /** None: `true`. */
  fetch?: SyncFetch;
}

/** The issuers that you trust, read and checked. It does not change: make a new one. */
export class Trust implements Closable {
  constructor(issuers: readonly Issuer[]);
  /** What became of each list that an issuer was given. */
  readonly lists: readonly ListReport[];
  /**
   * Verifies one presentation as it is in `vp_token`, without a session, on worker threads. The status list or CRL that
   * its credential names is fetched. A refusal is a value.
   */
  check<C = Claims>(presentation: Data, expected: Expected, options?: VerifyOptions): Promise<Verdict<C>>;
  /** The same on this thread. */
  checkSync<C = Claims>(presentation: Data, expected: Expected, options?: VerifySyncOptions): Verdict<C>;
  /** The same as `check`, and throws `Refused`. */
  verify<C = Claims>(presentation: Data, expected: Expected, options?: VerifyOptions): Promise<Presentation<C>>;
  /** The same on this thread. */
  verifySync<C = Claims>(presentation: Data, expected: Expected, options?: VerifySyncOptions): Presentation<C>;
  close(): void;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

// Requests.

/** What a request speaks: `draft`, OpenID4VP 1.0, or that within HAIP 1.0. */
export type Profile = 'draft' | '1.0' | 'haip';

/** What is asked of a wallet. */
export type SessionRequest = RequestByCredential | RequestByIssuer;

interface RequestOfAny {
  /** What the session speaks; none: the first of the verifier. */
  profile?: Profile;
  /** In place of `profile`; each makes one request, in this order. */
  profiles?: Profile[];
  /** Where the wallet sends the person afterwards. */
  redirectUri?: string;
  /** Whether the result needs the code of `redirectUri`; none: where one of the profiles is `haip`. */
  sameDevice?: boolean;
  /** How long the session takes an answer: 60,000 to 86,400,000; none: 300,000. */
  ttlMs?: number;
  /** What the holder is to agree to. Not for `draft`. */
  transactionData?: TransactionData[];
  /**
   * The treatment of credentials whose status list cannot be had; none: what their issuers say. `accept` is for issuers
   * of which `onUnknownRevocation` is `tenant`.
   */
  onUnknownRevocation?: 'refuse' | 'accept';
  /** The pages that may pass the request to their browser. Not for `draft` alone. */
  dcApi?: {
    origins: string[];
    /** Whether the request is also made for `org-iso-mdoc`, where it can be; none: it is. */
    isoMdoc?: boolean;
  };
}

export interface RequestByCredential extends RequestOfAny {
  credentials: (Credential | EuAge)[];
  /** Which combinations of credentials will do, by their ids; none: all are needed. */
  credentialSets?: { options: string[][]; required?: boolean }[];
  /** Whether every query needs a credential of its own. */
  distinctCredentials?: boolean;
  /** Ids of credentials that must be about one person. */
  sameSubjectGroups?: string[][];
}

/** Asks for the issuer's `defaultClaims`. */
export interface RequestByIssuer extends RequestOfAny {
  issuerId: string;
  format?: Credential['format'];
}

/** Other members are the type's own, and travel as they are. */
export interface TransactionData {
  type: string;
  credentialIds: string[];
  transactionDataHashesAlg?: string[];
  [member: string]: unknown;
}

/** A credential to ask for. Claims come back under `id`. */
export type Credential = SdJwtVc | Mdoc;

interface CredentialOfAny {
  /** None: `credential_<n>`. */
  id?: string;
  /** An issuer of the verifier's trust. */
  issuerId: string;
  claims: string[];
  /** A condition for each claim: a part of JSON Schema. */
  claimFilters?: Record<string, ClaimFilter>;
  /** What must be the same within a group. */
  subjectClaimPaths?: string[];
  alg?: Alg;
}

export interface SdJwtVc extends CredentialOfAny {
  format: 'dc+sd-jwt' | 'vc+sd-jwt';
  /** Where claims are, if they are not members of the payload by their name. Not for `draft`. */
  claimPaths?: Record<string, Path>;
}

export interface Mdoc extends CredentialOfAny {
  format: 'mso_mdoc';
  docType?: string;
  namespace?: string;
}

/**
 * The European proof that the holder is `age` years old or older. A request of these alone that names no profile is made
 * as the European age app takes it.
 */
export interface EuAge {
  preset: 'eu_age';
  /** None: `credential_<n>`. */
  id?: string;
  /** An issuer of the verifier's trust. */
  issuerId: string;
  /** From 1 to 99. */
  age: number;
}

export interface ClaimFilter {
  type?: unknown;
  const?: unknown;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  format?: 'date';
  formatMinimum?: string;
  formatMaximum?: string;
}

// Sessions.

/** One request of a session that a link carries. The first answer to any of them settles the session. */
export interface Offer {
  /** The last segment of its paths. */
  readonly handle: string;
  readonly profile: Profile;
  /** Who asks: a holder's proof is for this client identifier. */
  readonly clientId: string;
  /** Where wallets post their answer. */
  readonly responseUri: string;
  /** Where wallets fetch the signed request; null: the request travels by value. */
  readonly requestUri: string | null;
  /** This request by scheme. */
  readonly deepLinks: Record<string, string>;
}

/** A protocol of the Digital Credentials API. */
export type Protocol =
  | 'openid4vp-v1-unsigned'
  | 'openid4vp-v1-signed'
  | 'openid4vp-v1-multisigned'
  | 'org-iso-mdoc';

/** What a page passes to its browser: `Verifier.dcApiRequests` gives it. */
export interface BrowserOffer {
  readonly profile: Profile;
  /** Where the page may be from. */
  readonly origins: string[];
  /** What it passes on, in that order. */
  readonly protocols: Protocol[];
}

/** What a page passes to `navigator.credentials.get` as `digital`. */
export interface DcApiRequests {
  requests: { protocol: Protocol; data: Record<string, unknown> }[];
}

interface SessionOfAny {
  readonly id: string;
  readonly tenant: string;
  readonly mode: Mode;
  /** Counts commits. */
  readonly revision: number;
  /** The number of the trust that decided, once it did. */
  readonly trustVersion?: number;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** Its request to browsers, where it has one. */
  readonly dcApi: BrowserOffer | null;
}

/** The facts of a session at one time. */
export type SessionInfo = OpenSession | VerifyingSession | VerifiedSession | EndedSession;

/** It takes an answer. */
export interface OpenSession extends SessionOfAny {
  readonly status: 'CREATED' | 'PENDING';
  /** For a QR code. */
  readonly qrCodeUrl: string;
  /** The same request by scheme: `openid4vp`, `eudi-wallet`, `haip`. */
  readonly deepLinks: Record<string, string>;
  /** Its requests behind links, in the order of their profiles. */
  readonly offers: Offer[];
}

export interface VerifyingSession extends SessionOfAny {
  readonly status: 'VERIFYING';
}

export interface VerifiedSession extends SessionOfAny {
  readonly status: 'VERIFIED';
  readonly settledAt: Date;
}

export interface EndedSession extends SessionOfAny {
  readonly status: 'FAILED' | 'EXPIRED';
  /** Of a session that ended with its time: that time. */
  readonly settledAt: Date;
  readonly reason: Reason;
  /** What the wallet said, where the reason is `wallet_error`. */
  readonly walletError?: WalletError;
}

/**
 * The reader of a result: a browser, with `response_code` from the query of your `redirectUri`, or a program of yours
 * that shows it to no browser.
 */
export type Reader = { readonly responseCode: string | null | undefined } | 'backend';

/** What a VERIFIED session came to. */
export interface Result {
  readonly claims: Record<string, Claims>;
  readonly verificationDetails: VerificationDetails;
  /** The claims of one credential, by its id in the request. */
  credential<C = Claims>(id: string): C;
}

export interface VerificationDetails {
  readonly requestMode: 'inline' | 'jar' | 'dc_api';
  /** Of the page whose browser brought the answer. */
  readonly origin?: string;
  readonly profile?: Profile;
  readonly verifiedAt: Date;
  readonly responseCode?: string;
  readonly credentials: (Facts & {
    readonly id: string;
    readonly format: 'vc+sd-jwt' | 'mso_mdoc';
    readonly issuerId: string;
    readonly trustAnchorSha256: string;
    /** The element that decided each age. */
    readonly decidedBy?: Record<string, string>;
    /** What the holder agreed to with this credential. */
    readonly transactionData?: TransactionData[];
  })[];
  readonly sameSubject: { ids: string[]; matched: boolean }[];
}

/** One verification at one revision; it never changes. */
export class Session implements Closable {
  private constructor();
  /** The session of `snapshot()`, with its result when you kept that. */
  static restore(snapshot: Uint8Array, result?: Uint8Array | null): Session;
  readonly id: string;
  /** Counts commits. */
  readonly revision: number;
  /** Its id, and the ids of its offers: wallets name it by each of them. */
  readonly handles: readonly string[];
  /** For your database. It holds nonce, state and keys: seal it. */
  snapshot(): Uint8Array;
  /** The result, to survive a restart. It holds claims: seal it, erase it after 30 s. */
  resultSnapshot(now?: Date): Uint8Array | null;
  info(now?: Date): SessionInfo;
  /**
   * The result, which may be read for 30 seconds. Say who reads it. Throws `Withheld`.
   *
   * Some sessions have to end in the browser that they began in: those that offer `haip`, unless the request says
   * `sameDevice: false`, and those with `sameDevice: true`. A browser reads the result of these with the code of
   * its `redirectUri`; without the right one there is none.
   */
  result(reader: Reader, now?: Date): Result;
  /** The person followed the link: CREATED becomes PENDING. */
  followed(now?: Date): Transition | null;
  /** What the time has made of it: EXPIRED, or PENDING after a verification that was given up. */
  due(now?: Date): Transition | null;
  /** Gives up a verification of yours before its time is over, so that the same answer is taken later. */
  released(now?: Date): Transition | null;
  close(): void;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Carry it out after the commit. */
export type Effect =
  | {
      readonly type: 'publishStatus';
      readonly status: SessionInfo['status'];
      readonly reason: Reason | null;
      readonly walletError: WalletError | null;
      readonly occurredAt: Date;
    }
  | { readonly type: 'expireAt'; readonly at: Date }
  | { readonly type: 'redactClaimsAt'; readonly at: Date };

/**
 * A change to commit: store `session.snapshot()` where the stored revision still is
 * `fromRevision` (0: insert). Where it is another, another answer was faster: give this one up.
 */
export interface Transition {
  readonly fromRevision: number;
  readonly session: Session;
  readonly effects: readonly Effect[];
}

/** Where you keep sessions. */
export interface Store {
  /** The session with that handle: one of `session.handles`. */
  load(handle: string): Session | null | undefined | Promise<Session | null | undefined>;
  /** Whether it is stored; false: another revision is stored, and nothing was changed. */
  commit(transition: Transition): boolean | Promise<boolean>;
}

/** A store that does not wait. */
export interface SyncStore {
  commit(transition: Transition): boolean;
}

// Signers.

/** A fresh P-256 key, 32 bytes. Keep it sealed. */
export function generateSigningKey(): Uint8Array;

/** Signs requests. */
export class Signer implements Closable {
  /** Signs with a key of `generateSigningKey()`. */
  constructor(baseUrl: string, key: Uint8Array);
  /**
   * Signs through a function, for example with an HSM: 64 bytes of the raw ES256 signature, without waiting. It is
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
  certified(chain: Data, options?: At): Signer;
  /**
   * Checks a registration certificate (`rc-wrp+jwt`) for use at `now` together with the certificate of this
   * signer, one of `certified`: the dates, and that both are of one party. Wallets verify its signature.
   */
  checkRegistration(jwt: string, options?: At): Registration;
  /** The public JWK, to be published. */
  publicKey(): Record<string, unknown>;
  close(): void;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The DID document of `keys`, for `/.well-known/did.json`. */
export function didDocument(baseUrl: string, keys: object[]): Record<string, unknown>;
/** The JWK Set of the same keys, for `/.well-known/jwks.json`. */
export function jwks(baseUrl: string, keys: object[]): { keys: Record<string, unknown>[] };

/** The statements of a registration certificate. */
export interface Registration {
  /** The party. */
  subject: string;
  issuedAt: Date | null;
  /** None: it does not say. */
  expiresAt: Date | null;
  /** Whether the signer's certificate has an organizationIdentifier, which is the party then. */
  compared: boolean;
}

/** A registration certificate compared with a request. */
export interface Comparison {
  /** Whether it goes to wallets: where a request of the session is signed under `x509_hash`. */
  sent: boolean;
  /** Whether it would, had it not expired. */
  expired: boolean;
  /** The claims that are asked for and not registered. Wallets warn of them, or refuse. */
  beyond: string[];
}

// Verifiers.

/**
 * Fetches status lists and CRLs, and remembers them for as long as they say, a day at most: 1,024 of
 * them, and 64 MiB. While a source is down, its copy serves up to 24 hours beyond the time that the
 * source said, but never past its own end: a CRL to its nextUpdate, however distant. One serves any
 * number of verifiers: make one and keep it. A name is resolved once, and the connection goes
 * to an address that was checked. Redirects are checked in the same way; bodies have 10 MiB; all
 * fetches of one answer have 5 seconds together. No proxy is used, whatever the environment says.
 */
export class Fetcher implements Closable {
  constructor(options?: {
    /** Ranges that may be reached in addition to public addresses, for example `10.0.0.0/8`. */
    allow?: string[];
    /** In PEM: roots of https servers, in addition to those of the operating system. */
    roots?: Data;
  });
  close(): void;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A source to be fetched before a verdict is possible. Its URI comes from signed material. */
export interface Need {
  readonly kind: 'statusList' | 'crl' | 'identifierList';
  readonly uri: string;
  /** The `Accept` header to fetch it with. Add nothing to it: some hosts compare it as a whole. */
  readonly accept: string;
  /** The same to fetch it with once more after 404, 406 or 415; `null`: there is no other form. */
  readonly acceptOtherwise: string | null;
}

export interface VerifierOptions {
  /** What sessions may speak; the first is for requests that name none. */
  profiles: readonly Profile[];
  /** Of several, the first that fits signs. */
  signer?: Signer | readonly Signer[];
  /** They sign for the sessions that were made with them. */
  formerSigners?: readonly Signer[];
  /** How requests of `draft` and `1.0` go; none: `jar` when there is a signer. */
  requestMode?: 'inline' | 'jar';
  /** Your name in signed requests of `1.0`; none: `x509_hash` if the first signer has a certificate, else `did`. */
  clientId?: 'did' | 'x509_san_dns' | 'x509_hash';
  /** How answers of `1.0` come; none: `auto`, which encrypts when the request is signed. */
  responseMode?: 'auto' | 'direct_post' | 'direct_post.jwt';
  /** Links say that wallets may POST for the request. */
  requestUriMethod?: 'post';
  /**
   * What pages pass to their browser, in all profiles but `draft`; none: `off`. `signed` has the
   * unsigned request behind it, `multisigned` both; they are signed under `clientId`, in `haip` under
   * `x509_hash`, and multi-signed in `1.0` under each name that a signer has.
   */
  dcApi?: 'off' | 'unsigned' | 'signed' | 'multisigned';
  /** The number of the trust, which sessions record when they are decided. */
  trustVersion?: number;
  /** How its answers have status lists and CRLs fetched; none: `true`. */
  fetch?: Fetch;
}

/** An answer that a wallet posted, or one that a page got from its browser. */
export type Answer =
  | {
      /** The path that the wallet posted to, or its last segment. */
      to: string;
      body: Data;
      contentType?: string | null;
    }
  | {
      /** The credential of the browser: an object with `protocol` and `data`, or its JSON. */
      dcApi: Data | object;
    };

export interface DecideOptions extends At {
  /** In place of the verifier's. */
  fetch?: Fetch;
}

export interface DecideSyncOptions extends At {
  /** In place of the verifier's. */
  fetch?: SyncFetch;
}

/** Which checks of an answer were made, presentation by presentation, and what failed. */
export interface Report {
  /** The rule and its clause; null: nothing did. */
  readonly failed: string | null;
  readonly credentials: Check[][];
}

interface DecisionOfAny {
  /** It is committed already. */
  readonly transition: Transition;
  /** The reply to the wallet. An answer that a page brought needs none. */
  readonly http: HttpReply;
  /** Which checks were made and what failed. Not for the wallet. */
  readonly report: Report;
}

/** The verdict about an answer. */
export type Decision = Accepted | ErrorNoted | RefusedAnswer;

/** Every check passed. */
export interface Accepted extends DecisionOfAny {
  readonly reply: 'accepted';
  readonly status: 'VERIFIED';
  readonly redirectUri: string | null;
}

/** The wallet presented nothing, and said why. */
export interface ErrorNoted extends DecisionOfAny {
  readonly reply: 'errorNoted';
  readonly status: 'FAILED';
  readonly reason: Reason;
  readonly walletError: WalletError;
  readonly redirectUri: string | null;
}

/** The reply to the wallet is `invalid_presentation`, whatever the reason. The reason is for you. */
export interface RefusedAnswer extends DecisionOfAny {
  readonly reply: 'refused';
  readonly status: 'FAILED';
  readonly reason: Reason;
}

/** A configured verifier: make a new one to change trust. */
export class Verifier implements Closable {
  /**
   * Without `signer`, requests are unsigned and by value; with one, they are signed and by
   * reference, and answers are encrypted. `haip` needs one of `Signer.certified`.
   */
  constructor(baseUrl: string, trust: Trust, options: VerifierOptions);
  /**
   * Makes a session. The request is an object, or the JSON that a tenant sent, as text or bytes: that is wire JSON,
   * and goes unchanged. Commit the session before you show its link. `registration`,
   * a registration certificate, goes to wallets as `verifier_info` where `compareRegistration` says
   * so; with `strict` a request that asks for more, or whose certificate has expired, is refused.
   * Throws `RequestInvalid`, and a `TypeError` for a value that JSON does not have: `undefined` leaves out an optional
   * field of a request or a credential, and is refused within filters, paths and transaction data.
   */
  createSession(
    request: SessionRequest | Data,
    options: { mode: Mode; tenant?: string; registration?: string; strict?: boolean } & At,
  ): Transition;
  /** What becomes of a registration certificate with this request. */
  compareRegistration(
    registration: string,
    request: SessionRequest | Data,
    options: { mode: Mode } & At,
  ): Comparison;
  /**
   * The signed request. Commit the transition, if there is one, then reply with `http`. `to`: the path that the wallet
   * fetches, or its last segment. Of a POST, give the form as it came. Throws `NotAnAnswer` when there is nothing to
   * fetch.
   */
  requestObject(
    session: Session,
    options: ({ to: string; contentType?: string | null; body?: Data } | { to: string; walletNonce?: string }) & At,
  ): { readonly jwt: string; readonly http: HttpReply; readonly transition: Transition | null };
  /**
   * What a page passes to `navigator.credentials.get` as `digital`, of a session whose request had
   * `dcApi`, for example `{ origins: ['https://shop.example'] }`: name origins of your own, whose pages may
   * ask. Throws `NotAnAnswer` when the session has none or takes no answer any more.
   */
  dcApiRequests(session: Session, options?: At): DcApiRequests;
  /**
   * Takes an answer to its verdict, and commits that. It works on worker threads, commits a hold before the first
   * fetch, and fetches all sources of a round together; a source that is known and fresh is neither held nor fetched.
   *
   * Throws `NotAnAnswer` when the answer changes nothing, and `NotAvailable` when a source could not be asked by a
   * fault of this machine. An error after the hold was committed gives it back, so that the wallet may come
   * again; the first error is the one that is thrown.
   */
  decide(
    session: Session,
    answer: Answer,
    store: Pick<Store, 'commit'>,
    options?: DecideOptions,
  ): Promise<Decision>;
  /** The same on this thread. */
  decideSync(session: Session, answer: Answer, store: SyncStore, options?: DecideSyncOptions): Decision;
  /** The DID document, for `/.well-known/did.json`; null: no key signs under the DID. */
  didDocument(): Record<string, unknown> | null;
  /** The same keys as a JWK Set, for `/.well-known/jwks.json`. */
  jwks(): { keys: Record<string, unknown>[] };
  close(): void;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

// Over HTTP.

/** The `Request` and `Response` of fetch, where the program has their types. */
type FetchRequest = typeof globalThis extends { Request: { prototype: infer R } } ? R : object;
type FetchResponse = typeof globalThis extends { Response: { prototype: infer R } } ? R : object;

/** A handler of fetch's `Request` and `Response`, for Hono, Next, Bun and Deno. */
export type FetchHandler = (request: FetchRequest) => Promise<FetchResponse>;

export interface WalletsOptions {
  /** As that of `decide`. */
  fetch?: Fetch;
  /** An answer was refused. `decision.report` is for your log. It is not waited for; its failure goes to `onFault`. */
  onRefused?(decision: RefusedAnswer): void | Promise<void>;
  /** The store, the signer, a source or idgate failed; none: `console.error`, which also gets a failure of this one. */
  onFault?(problem: unknown): void | Promise<void>;
}

/**
 * The four routes that wallets use:
 *
 * - `GET` and `POST /v1/oid4vp/request/{handle}`: a signed request,
 * - `POST /v1/oid4vp/response/{handle}`: an answer,
 * - `GET /.well-known/did.json` and `GET /.well-known/jwks.json`: the keys that sign.
 *
 * Serve them at the root of the verifier's base URL, without a login. You create the sessions and read them. Bodies are
 * read for sessions that take an answer alone, up to 1 MiB, for 30 seconds at most.
 */
export function wallets(
  verifier: Verifier,
  store: Store,
  options?: WalletsOptions,
): FetchHandler & {
  /** Whether a path is one of these routes. */
  serves(path: string): boolean;
};

interface NodeRequest {
  method?: string | undefined;
  url?: string | undefined;
  rawHeaders: string[];
}

interface NodeResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(): unknown;
}

/**
 * The handler for Express or node:http. In Express, paths that are not its own go on to the next handler. Use it before
 * anything that reads bodies; behind a parser, it takes `request.body` where that is bytes or text.
 */
export function toNodeHandler(
  handler: FetchHandler & { serves?(path: string): boolean },
): (request: NodeRequest, response: NodeResponse, next?: (problem?: unknown) => void) => Promise<void>;

/** A notification that a session settled. It never has claims. */
export interface Notification {
  sessionId: string;
  clientId: string;
  status: 'VERIFIED' | 'FAILED' | 'EXPIRED';
  /** From creation to settlement. */
  latencyMs: number;
  issuerId: string;
}

/** Headers as Node has them, fetch's `Headers`, or a plain object in any case. */
export type ReceivedHeaders =
  | { get(name: string): string | null }
  | Record<string, string | string[] | undefined>;

/** Notifications of one sender. */
export class Webhook {
  /** `toleranceMs`: how far a timestamp may be from the present, 1 or more; none: 5 minutes. */
  constructor(secret: string, options?: { toleranceMs?: number });
  /**
   * The notification in `body`, by `webhook-signature` (Standard Webhooks) if there is one, else by `X-Signature`.
   * `body`: exactly as it came. Throws `Refused` when it is not to be believed.
   */
  verify(headers: ReceivedHeaders, body: Data, options?: At): Notification;
  /** The headers of one attempt to deliver `body`; `number` counts from 1. */
  headers(
    body: Data,
    attempt: { id: string; number: number; previousSecret?: string } & At,
  ): Record<string, string>;
}
