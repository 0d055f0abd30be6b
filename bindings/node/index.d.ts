/// <reference lib="esnext.disposable" />
/** Verifies digital identity and age credentials that wallets present over OpenID4VP. */

/** Bytes, or text: PEM and JSON are text. */
export type Data = string | Uint8Array;
export type Claims = Record<string, unknown>;
export type Alg = 'ES256' | 'ES384' | 'ES512';
/** Live or test. Test mode also accepts trust material for tests. */
export type Mode = 'live' | 'test';

/** An object of the library. It is released by `using`, `await using`, `close()`, or when it is collected. */
interface Closable {
  /** Releases the object now. Objects that were made with it keep working. */
  close(): void;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

interface At {
  /** The current time, for tests. Default: the clock. */
  now?: Date | null;
}

/** A reply to a wallet. Its body may contain a response code or a nonce: keep it out of logs. */
export interface HttpReply {
  readonly status: number;
  /** By lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

// Errors. A value of a wrong type or a closed object throws a `TypeError`.

/** The base of all other errors of this package. Messages never contain claim values, tokens or keys. */
export class IdgateError extends Error {
  protected constructor();
  /** Stable, for example `nonce_mismatch`. Requests, answers and refusals have the codes of the gateway. */
  readonly code: string;
}

/** The request breaks a rule. */
export class RequestInvalid extends IdgateError {
  private constructor();
  /** The field in the spelling of the request, for example `credentials[0].claims[2]`; empty: the whole request. */
  readonly path: string;
  /** The broken rule, and what to do. */
  readonly rule: string;
  /** What you can change on your side: the trust, or an option of the verifier. */
  readonly hint?: string;
}

/** Trust, a key, a certificate or an option cannot be used. */
export class Misconfigured extends IdgateError {
  private constructor();
  /** The issuer of the material; null: it is not an issuer's. */
  readonly issuer: string | null;
  /** For example `iacaRoots[0]`. */
  readonly field: string | null;
  /** The fault, for example `is neither PEM nor DER`. */
  readonly why: string;
  /** What you can do, if that is known. */
  readonly hint?: string;
}

/** A presentation or a notification was evaluated and refused. */
export class Refused extends IdgateError {
  private constructor();
  readonly reason: Reason | 'invalid_webhook';
  /** The check that failed. */
  readonly check: string;
  /** The clause of the standard, for example `RFC 9901 7.3`. */
  readonly clause: string;
  /** What you can do, if there is something. */
  readonly hint?: string;
}

/** The wallet's answer or fetch changes nothing. Store nothing. */
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

/** The random source, the signer or a status source could not be used because of a fault of this machine. Try again. */
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

/** Why a wallet presented nothing (OpenID4VP 8.5); `other` is any other error code. */
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
 * An issuer that you trust: which credentials it may issue, and the keys and certificates that they are verified with.
 * Certificates and CRLs are PEM or DER, one or many.
 */
export interface Issuer {
  /** The name that requests use for it. If it is a URL or a DID, the `iss` of credentials must equal it. */
  id: string;

  /** Public keys of an SD-JWT VC issuer: a JWK or a JWK Set. */
  jwk?: Some<Data | object>;
  /** Public keys of an SD-JWT VC issuer in PEM. */
  publicKeyPem?: Some<Data>;
  /** X.509 roots of mdoc document signers. */
  iacaRoots?: Some<Data>;
  /** Certificates of mdoc document signers that are trusted without a root. */
  mdocSigners?: Some<Data>;
  /** X.509 roots of SD-JWT VC issuers whose certificates come in `x5c`. */
  x5cRoots?: Some<Data>;
  /** Certificates of SD-JWT VC issuers that are trusted without a root. */
  x5cSigners?: Some<Data>;
  /** X.509 roots below which status lists may be signed, in addition to the root of the credential. */
  statusRoots?: Some<Data>;
  /** CRLs of the roots above. They replace the fetch. */
  crls?: Some<Data>;
  /** The roots of a VICAL. */
  vical?: Some<Data | ListFile>;
  /** The roots of an ICAO Master List. */
  masterList?: Some<Data | ListFile>;
  /** The providers of a European trusted list. */
  trustedList?: Some<Data | ListFile>;
  /** All of its material is used only in test-mode sessions. */
  testOnly?: boolean;

  /** Accepted types of SD-JWT VC. Default: any. */
  vcts?: string[];
  /** Accepted document types of mdoc. Default: the one that a request names. */
  docTypes?: string[];
  /** Namespaces of an mdoc that a request may leave unnamed. */
  namespaces?: string[];
  /** Paths of claims in its SD-JWT VCs that are not members of the payload by their name. Not for `draft`. */
  claimPaths?: Record<string, Path>;
  /** The claims of a request that names only this issuer. */
  defaultClaims?: string[];
  /** The value that `iss` must have. */
  iss?: string;
  /** `iss` is not compared. */
  anyIss?: boolean;
  /** Countries whose roots are used. Default: any. */
  countries?: string[];
  /** Extended key usages of mdoc document signers. Default: that of the mDL. */
  mdocEkus?: string[];
  /** Extended key usages of which the certificate of an SD-JWT VC issuer must have one. */
  x5cEkus?: string[];

  /** Default: `if_published`. */
  revocation?: 'if_published' | 'required' | 'off';
  /**
   * Whether a credential is accepted when its status list cannot be fetched. Default: `refuse`. Not with `required`.
   * With `tenant` the session's request decides.
   */
  onUnknownRevocation?: 'refuse' | 'accept' | 'tenant';
  /** How long a status list without `exp` is valid after its `iat`, 1 to 3650. Default: 7. */
  statusMaxAgeDays?: number;
  /** Queries name its roots, so that wallets look only for credentials below them. */
  namedInQueries?: boolean;
  /** URLs of trusted lists that queries name, so that wallets look only for credentials of their providers. */
  trustedListUrls?: string[];
  /** How many documents the DeviceResponse of an mdoc may have, in `1.0` and `haip`. Default: one. */
  deviceResponseDocuments?: 'one' | 'any';
  /** Test-mode sessions accept an mDL whose issuing_country is not its signer's, and say so in the result. */
  issuingCountryUnbound?: boolean;
}

/** One, or several. */
type Some<T> = T | T[];

/** A list of certificates, and the rules for its import. */
export interface ListFile {
  file: Data;
  /** The CA below which its signer must be. Without it the list is accepted only for a `testOnly` issuer. */
  signedBelow?: Data;
  /** Accept a VICAL or a trusted list although a newer one is due. */
  allowStale?: boolean;
  now?: Date;
}

/** The report on a list of an issuer. */
export interface ListReport {
  readonly issuerId: string;
  readonly field: 'vical' | 'masterList' | 'trustedList';
  readonly certificates: ListedCertificate[];
  /** For a trusted list, like the fields below. */
  readonly listType?: 'pid' | 'mdl' | 'pub-eaa';
  readonly sequence?: number;
  readonly issuedAt?: Date;
  /** The list is no longer valid from then on. */
  readonly nextUpdate?: Date;
  readonly organization?: string | null;
  readonly providers?: ListedProvider[];
}

/** The outcome for one certificate of a list. */
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

/** The provider that a trusted list names, or `candidates`, one of which is the issuer. */
export type Provider = (ListedProvider | { candidates: ListedProvider[] }) & {
  listType: 'pid' | 'mdl' | 'pub-eaa';
  listSequence: number;
};

/** What a presentation must contain, and the request that it answers. */
export type Expected = ExpectedSdJwtVc | ExpectedMdoc;

interface ExpectedOfAny {
  issuerId: string;
  /** Exactly as sent. */
  clientId: string;
  /** Yours, used once. */
  nonce: string;
  /** The claims that must be there. Only these are returned. */
  claims?: string[];
  alg?: Alg;
  /** Default: `live`. */
  mode?: Mode;
}

export interface ExpectedSdJwtVc extends ExpectedOfAny {
  format: 'dc+sd-jwt' | 'vc+sd-jwt';
  /** When you sent the request. Older proofs are stale. Default: the current time. */
  sentAt?: Date;
  /** Paths of claims that are not members of the payload by their name. */
  claimPaths?: Record<string, Path>;
}

interface ExpectedMdocOfAny extends ExpectedOfAny {
  format: 'mso_mdoc';
  docType: string;
  namespace: string;
  /** The profile of the request. Default: `1.0`. */
  profile?: Profile;
  /** For an encrypted answer: the JWK that it was encrypted to, with `d` for a device MAC, which only `draft` has. */
  encKey?: { kty: string; crv: string; x: string; y: string; d?: string };
  /** For an encrypted answer in `draft`: `apu` of its header. */
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

/** Facts about a credential that passed every check. */
export interface Facts {
  readonly credentialType: string;
  readonly issuer: string | null;
  readonly alg: Alg;
  readonly holderBinding: 'kb_jwt' | 'device_signature' | 'device_mac';
  readonly trust: 'issuer_key' | 'x5chain' | 'pinned_signer' | 'listed_signer';
  /** Present if a trusted list names the issuer. */
  readonly provider?: Provider;
  readonly sessionTranscript?: string | null;
  readonly validFrom: Date | null;
  readonly validUntil: Date | null;
  readonly revocation: 'good' | 'signer_good' | 'not_published' | 'off' | 'unknown';
  /** For the credential, and for the certificate that signed it. A bare key publishes nothing. */
  readonly revocationDetails: { credential: RevocationOutcome; signer: RevocationOutcome };
  /** Present and true if the issuer's `issuingCountryUnbound` was applied. */
  readonly issuingCountryUnbound?: boolean;
  /** Present if there are any: OIDs of unreadable extensions of the signer's certificate that were tolerated. */
  readonly tolerated?: readonly string[];
}

export type RevocationOutcome = 'good' | 'not_published' | 'off' | 'unknown';

/** A presentation that passed every check. */
export interface Presentation<C = Claims> {
  readonly claims: C;
  readonly facts: Facts;
  /** Present if you asked for them. */
  readonly checks?: Check[];
}

/** The outcome of a check. */
export type Verdict<C = Claims> =
  | ({ readonly ok: true } & Presentation<C>)
  | { readonly ok: false; readonly refused: Refused };

/**
 * How to fetch the status lists and CRLs that credentials name. `true`: the library fetches from public addresses. A
 * `Fetcher` of yours can also reach others. A function of yours replaces the fetch; it returns `null` if no usable body
 * came in time. `false`: nothing is fetched, and a credential that needs a list is refused (`revocation_unknown`).
 */
export type Fetch = boolean | Fetcher | ((need: Need) => Uint8Array | null | Promise<Uint8Array | null>);
/** A synchronous `Fetch`. */
export type SyncFetch = boolean | Fetcher | ((need: Need) => Uint8Array | null);

export interface VerifyOptions extends At {
  /** Default: `true`. */
  fetch?: Fetch;
  /** Lists the checks that were made, for records. */
  checks?: boolean;
}

export interface VerifySyncOptions extends VerifyOptions {
  /** Default: `true`. */
  fetch?: SyncFetch;
}

/** The issuers that you trust, read and checked. It never changes; make a new one to change trust. */
export class Trust implements Closable {
  constructor(issuers: readonly Issuer[]);
  /** The reports on the lists of its issuers. */
  readonly lists: readonly ListReport[];
  /**
   * Verifies one presentation of a `vp_token` without a session, on worker threads. It fetches the status list or CRL
   * that the credential names. It returns a refusal as a value.
   */
  check<C = Claims>(presentation: Data, expected: Expected, options?: VerifyOptions): Promise<Verdict<C>>;
  /** The same on this thread. */
  checkSync<C = Claims>(presentation: Data, expected: Expected, options?: VerifySyncOptions): Verdict<C>;
  /** The same as `check`, but throws `Refused`. */
  verify<C = Claims>(presentation: Data, expected: Expected, options?: VerifyOptions): Promise<Presentation<C>>;
  /** The same on this thread. */
  verifySync<C = Claims>(presentation: Data, expected: Expected, options?: VerifySyncOptions): Presentation<C>;
  close(): void;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

// Requests.

/** The profile of a request: the drafts, OpenID4VP 1.0, or OpenID4VP 1.0 within HAIP 1.0. */
export type Profile = 'draft' | '1.0' | 'haip';

/** A request for credentials. */
export type SessionRequest = RequestByCredential | RequestByIssuer;

interface RequestOfAny {
  /** The profile of the session. Default: the first of the verifier. */
  profile?: Profile;
  /** Instead of `profile`: the session has one request for each, in this order. */
  profiles?: Profile[];
  /** Where the wallet sends the person afterwards. */
  redirectUri?: string;
  /** Whether the result needs the code of `redirectUri`. Default: true if one of the profiles is `haip`. */
  sameDevice?: boolean;
  /** How long the session accepts an answer: 60,000 to 86,400,000. Default: 300,000. */
  ttlMs?: number;
  /** What the holder has to agree to. Not for `draft`. */
  transactionData?: TransactionData[];
  /**
   * Whether credentials are accepted when their status list cannot be fetched. Default: the choice of their issuers.
   * `accept` is for issuers whose `onUnknownRevocation` is `tenant`.
   */
  onUnknownRevocation?: 'refuse' | 'accept';
  /** The pages that may pass the request to their browser. Not for `draft` alone. */
  dcApi?: {
    origins: string[];
    /** Whether to ask by `org-iso-mdoc` as well, if that is possible. Default: true. */
    isoMdoc?: boolean;
  };
}

export interface RequestByCredential extends RequestOfAny {
  credentials: (Credential | EuAge)[];
  /** Which combinations of credentials are enough, by their ids. Default: all are needed. */
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

/** Other members belong to the type, and are sent as they are. */
export interface TransactionData {
  type: string;
  credentialIds: string[];
  transactionDataHashesAlg?: string[];
  [member: string]: unknown;
}

/** A requested credential. The result has its claims under `id`. */
export type Credential = SdJwtVc | Mdoc;

interface CredentialOfAny {
  /** Default: `credential_<n>`. */
  id?: string;
  /** An issuer of the verifier's trust. */
  issuerId: string;
  claims: string[];
  /** A condition for each claim: a part of JSON Schema. */
  claimFilters?: Record<string, ClaimFilter>;
  /** The claims that must be equal within a group. */
  subjectClaimPaths?: string[];
  alg?: Alg;
}

export interface SdJwtVc extends CredentialOfAny {
  format: 'dc+sd-jwt' | 'vc+sd-jwt';
  /** Paths of claims that are not members of the payload by their name. Not for `draft`. */
  claimPaths?: Record<string, Path>;
}

export interface Mdoc extends CredentialOfAny {
  format: 'mso_mdoc';
  docType?: string;
  namespace?: string;
}

/**
 * The European proof that the holder is `age` years old or older. A request with only these credentials and without a
 * profile has the form that the European age app accepts.
 */
export interface EuAge {
  preset: 'eu_age';
  /** Default: `credential_<n>`. */
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

/** One request of a session that is sent as a link. The first answer to any offer settles the session. */
export interface Offer {
  /** The last segment of its paths. */
  readonly handle: string;
  readonly profile: Profile;
  /** The client identifier that the holder's proof is meant for. */
  readonly clientId: string;
  /** Where wallets post their answer. */
  readonly responseUri: string;
  /** Where wallets fetch the signed request; null: the request is sent by value. */
  readonly requestUri: string | null;
  /** The links to this request, by scheme. */
  readonly deepLinks: Record<string, string>;
}

/** A protocol of the Digital Credentials API. */
export type Protocol =
  | 'openid4vp-v1-unsigned'
  | 'openid4vp-v1-signed'
  | 'openid4vp-v1-multisigned'
  | 'org-iso-mdoc';

/** The request that a page passes to its browser. `Verifier.dcApiRequests` returns it. */
export interface BrowserOffer {
  readonly profile: Profile;
  /** The allowed origins of the page. */
  readonly origins: string[];
  /** The protocols of its requests, in that order. */
  readonly protocols: Protocol[];
}

/** The value that a page passes to `navigator.credentials.get` as `digital`. */
export interface DcApiRequests {
  requests: { protocol: Protocol; data: Record<string, unknown> }[];
}

interface SessionOfAny {
  readonly id: string;
  readonly tenant: string;
  readonly mode: Mode;
  /** Counts commits. */
  readonly revision: number;
  /** The version number of the trust that decided; null before the decision. */
  readonly trustVersion?: number;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** Its request to browsers, if it has one. */
  readonly dcApi: BrowserOffer | null;
}

/** The facts of a session at one time. */
export type SessionInfo = OpenSession | VerifyingSession | VerifiedSession | EndedSession;

/** The session accepts an answer. */
export interface OpenSession extends SessionOfAny {
  readonly status: 'CREATED' | 'PENDING';
  /** For a QR code. */
  readonly qrCodeUrl: string;
  /** The links to the request, by scheme: `openid4vp`, `eudi-wallet`, `haip`. */
  readonly deepLinks: Record<string, string>;
  /** Its requests as links, in the order of their profiles. */
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
  /** For an expired session: when it expired. */
  readonly settledAt: Date;
  readonly reason: Reason;
  /** The wallet's error, if the reason is `wallet_error`. */
  readonly walletError?: WalletError;
}

/**
 * The reader of a result: a browser, with `response_code` from the query of your `redirectUri`, or a program of yours
 * that does not show the result to a browser.
 */
export type Reader = { readonly responseCode: string | null | undefined } | 'backend';

/** The result of a VERIFIED session. */
export interface Result {
  readonly claims: Record<string, Claims>;
  readonly verificationDetails: VerificationDetails;
  /** The claims of one credential, by its id in the request. */
  credential<C = Claims>(id: string): C;
}

export interface VerificationDetails {
  readonly requestMode: 'inline' | 'jar' | 'dc_api';
  /** The origin of the page whose browser brought the answer. */
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

/** One session at one revision. It never changes. */
export class Session implements Closable {
  private constructor();
  /** Restores a session from `snapshot()`, with its result if you kept that. */
  static restore(snapshot: Uint8Array, result?: Uint8Array | null): Session;
  readonly id: string;
  /** Counts commits. */
  readonly revision: number;
  /** Its id, and the ids of its offers. Wallets may use any of them. */
  readonly handles: readonly string[];
  /** The session for your database. It contains nonce, state and keys: encrypt it. */
  snapshot(): Uint8Array;
  /** The result, to survive a restart. It contains claims: encrypt it, and erase it after 30 s. */
  resultSnapshot(now?: Date): Uint8Array | null;
  info(now?: Date): SessionInfo;
  /**
   * The result, readable for 30 seconds. Say who reads it. Throws `Withheld`.
   *
   * Some sessions have to end in the browser that began: those that offer `haip`, unless the request says `sameDevice:
   * false`, and those with `sameDevice: true`. A browser reads their result with the code of its `redirectUri`; without
   * the right code there is no result.
   */
  result(reader: Reader, now?: Date): Result;
  /** Records that the person followed the link: CREATED becomes PENDING. */
  followed(now?: Date): Transition | null;
  /** The change that is due: EXPIRED, or PENDING after a verification that was given up. */
  due(now?: Date): Transition | null;
  /** Gives up a verification early, so that the same answer can be accepted later. */
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
 * A change to commit: store `session.snapshot()` if the stored revision is still `fromRevision` (0: insert). Otherwise
 * another answer was faster: discard this transition.
 */
export interface Transition {
  readonly fromRevision: number;
  readonly session: Session;
  readonly effects: readonly Effect[];
}

/** Your storage of sessions. */
export interface Store {
  /** The session with that handle: one of `session.handles`. */
  load(handle: string): Session | null | undefined | Promise<Session | null | undefined>;
  /** Stores the session. Returns false, and changes nothing, if another revision is stored. */
  commit(transition: Transition): boolean | Promise<boolean>;
}

/** A synchronous store. */
export interface SyncStore {
  commit(transition: Transition): boolean;
}

// Signers.

/** A fresh P-256 key of 32 bytes. Keep it encrypted. */
export function generateSigningKey(): Uint8Array;

/** Signs requests. */
export class Signer implements Closable {
  /** Signs with a key of `generateSigningKey()`. */
  constructor(baseUrl: string, key: Uint8Array);
  /**
   * Signs through a function, for example with an HSM. The function returns the 64 bytes of the raw ES256 signature. It
   * runs on the thread that calls `requestObject`, and must not return a promise.
   */
  static external(
    baseUrl: string,
    publicKey: Data | object,
    sign: (input: Uint8Array) => Uint8Array,
  ): Signer;
  /**
   * A signer with the same key and a certificate. `chain`, in PEM or DER, is the certificate and then those that lead
   * up from it; it is checked for use at `now`. The signer signs only requests that name you by the certificate
   * (`x509_san_dns`, `x509_hash` and all of `haip`).
   */
  certified(chain: Data, options?: At): Signer;
  /**
   * Checks a registration certificate (`rc-wrp+jwt`) for use at `now` together with the certificate of this signer, one
   * of `certified`: the dates, and that both name the same relying party. Wallets verify its signature.
   */
  checkRegistration(jwt: string, options?: At): Registration;
  /** The public JWK, for publication. */
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
  /** The relying party. */
  subject: string;
  issuedAt: Date | null;
  /** Null: it has no end. */
  expiresAt: Date | null;
  /** Whether the signer's certificate has an organizationIdentifier. It then names the same relying party. */
  compared: boolean;
}

/** A registration certificate compared with a request. */
export interface Comparison {
  /** Whether wallets receive it: they do if a request of the session is signed under `x509_hash`. */
  sent: boolean;
  /** Whether wallets would receive it if it had not expired. */
  expired: boolean;
  /** The claims that are requested but not registered. Wallets warn the person, or refuse. */
  beyond: string[];
}

// Verifiers.

/**
 * Fetches status lists and CRLs, and caches them for as long as they say, but for a day at most. The cache holds up to
 * 1,024 lists in 64 MiB. While a source is down, its copy serves up to 24 hours beyond the time that the source said,
 * but never past its own end. For a CRL that end is its nextUpdate, however distant.
 *
 * Make one fetcher and keep it: it serves any number of verifiers. It resolves a name once and connects to an address
 * that it checked. Redirects are checked in the same way. A body has at most 10 MiB, and all fetches for one answer
 * take at most 5 seconds together. No proxy is used, whatever the environment says.
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

/** A source that must be fetched before the decision. Its URI comes from signed material. */
export interface Need {
  readonly kind: 'statusList' | 'crl' | 'identifierList';
  readonly uri: string;
  /** The `Accept` header for the fetch. Add nothing to it: some hosts compare the whole value. */
  readonly accept: string;
  /** The `Accept` header for a second fetch after 404, 406 or 415; `null`: there is no other form. */
  readonly acceptOtherwise: string | null;
}

export interface VerifierOptions {
  /** The profiles of sessions. The first is for requests that name none. */
  profiles: readonly Profile[];
  /** If there are several, the first that fits signs. */
  signer?: Signer | readonly Signer[];
  /** They sign only for sessions that were made with them. */
  formerSigners?: readonly Signer[];
  /** How requests of `draft` and `1.0` reach wallets. Default: `jar` if there is a signer. */
  requestMode?: 'inline' | 'jar';
  /** Your name in signed requests of `1.0`. Default: `x509_hash` if the first signer has a certificate, else `did`. */
  clientId?: 'did' | 'x509_san_dns' | 'x509_hash';
  /** How answers of `1.0` come. Default: `auto`, which encrypts them if the request is signed. */
  responseMode?: 'auto' | 'direct_post' | 'direct_post.jwt';
  /** Links say that wallets may POST for the request. */
  requestUriMethod?: 'post';
  /**
   * The requests that pages pass to their browser, in all profiles but `draft`. Default: `off`. `signed` also includes
   * the unsigned request, and `multisigned` includes both. Requests are signed under `clientId`, in `haip` under
   * `x509_hash`, and multi-signed in `1.0` under each name that a signer can sign for.
   */
  dcApi?: 'off' | 'unsigned' | 'signed' | 'multisigned';
  /** Your version number for the trust. Sessions record it when they are decided. */
  trustVersion?: number;
  /** How to fetch the status lists and CRLs of its answers. Default: `true`. */
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
      /** The browser's credential: an object with `protocol` and `data`, or its JSON. */
      dcApi: Data | object;
    };

export interface DecideOptions extends At {
  /** Replaces the verifier's. */
  fetch?: Fetch;
}

export interface DecideSyncOptions extends At {
  /** Replaces the verifier's. */
  fetch?: SyncFetch;
}

/** The checks of an answer, presentation by presentation, and the failed one. */
export interface Report {
  /** The failed rule and its clause; null: nothing failed. */
  readonly failed: string | null;
  readonly credentials: Check[][];
}

interface DecisionOfAny {
  /** It is committed already. */
  readonly transition: Transition;
  /** The reply to the wallet. An answer from a page needs none. */
  readonly http: HttpReply;
  /** The checks and the failed one. Never show it to the wallet. */
  readonly report: Report;
}

/** The decision about an answer. */
export type Decision = Accepted | ErrorNoted | RefusedAnswer;

/** Every check passed. */
export interface Accepted extends DecisionOfAny {
  readonly reply: 'accepted';
  readonly status: 'VERIFIED';
  readonly redirectUri: string | null;
}

/** The wallet presented nothing, and reported an error. */
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

/** A configured verifier. Make a new one to change trust. */
export class Verifier implements Closable {
  /**
   * Without `signer`, requests are unsigned and by value; with one, they are signed and by reference, and answers are
   * encrypted. `haip` needs one of `Signer.certified`.
   */
  constructor(baseUrl: string, trust: Trust, options: VerifierOptions);
  /**
   * Creates a session. The request is an object, or the JSON that a tenant sent, as text or bytes, which is passed on
   * unchanged. Commit the session before you show its link.
   *
   * `registration` is a registration certificate. Wallets receive it as `verifier_info` if `compareRegistration` says
   * so. With `strict` a request is refused if it asks for more, or if its certificate has expired.
   *
   * Throws `RequestInvalid`, and a `TypeError` for a value that JSON does not have. `undefined` leaves out an optional
   * field of a request or a credential; it is refused within filters, paths and transaction data.
   */
  createSession(
    request: SessionRequest | Data,
    options: { mode: Mode; tenant?: string; registration?: string; strict?: boolean } & At,
  ): Transition;
  /** Compares a registration certificate with this request. */
  compareRegistration(
    registration: string,
    request: SessionRequest | Data,
    options: { mode: Mode } & At,
  ): Comparison;
  /**
   * The signed request. Commit the transition, if there is one, then reply with `http`. `to` is the path that the
   * wallet fetches, or its last segment. For a POST, pass the form as it came. Throws `NotAnAnswer` if there is nothing
   * to fetch.
   */
  requestObject(
    session: Session,
    options: ({ to: string; contentType?: string | null; body?: Data } | { to: string; walletNonce?: string }) & At,
  ): { readonly jwt: string; readonly http: HttpReply; readonly transition: Transition | null };
  /**
   * The value that a page passes to `navigator.credentials.get` as `digital`. The request of the session must have had
   * `dcApi`, for example `{ origins: ['https://shop.example'] }`, with origins of your own whose pages may ask. Throws
   * `NotAnAnswer` if the session has no such request or no longer accepts an answer.
   */
  dcApiRequests(session: Session, options?: At): DcApiRequests;
  /**
   * Decides about an answer and commits the decision. It works on worker threads, commits a hold before the first
   * fetch, and fetches all sources of a round in parallel. If fresh copies are cached, it neither holds nor fetches.
   *
   * Throws `NotAnAnswer` if the answer changes nothing, and `NotAvailable` if a source could not be asked because of a
   * fault of this machine. After an error it releases the committed hold, so that the wallet may try again, and throws
   * the first error.
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

/** The `Request` and `Response` of fetch, if the program has their types. */
type FetchRequest = typeof globalThis extends { Request: { prototype: infer R } } ? R : object;
type FetchResponse = typeof globalThis extends { Response: { prototype: infer R } } ? R : object;

/** A handler of fetch's `Request` and `Response`, for Hono, Next, Bun and Deno. */
export type FetchHandler = (request: FetchRequest) => Promise<FetchResponse>;

export interface WalletsOptions {
  /** The same as for `decide`. */
  fetch?: Fetch;
  /** Called for a refused answer, for your log. The handler does not wait for it; its failure goes to `onFault`. */
  onRefused?(decision: RefusedAnswer): void | Promise<void>;
  /** Called if the store, the signer, a source or idgate failed. Default, and for its own failure: `console.error`. */
  onFault?(problem: unknown): void | Promise<void>;
}

/**
 * The four routes that wallets use:
 *
 * - `GET` and `POST /v1/oid4vp/request/{handle}`: a signed request,
 * - `POST /v1/oid4vp/response/{handle}`: an answer,
 * - `GET /.well-known/did.json` and `GET /.well-known/jwks.json`: the keys that sign.
 *
 * Serve them at the root of the verifier's base URL, without a login. You create the sessions and read them. The
 * handler
 * reads a body only for a session that accepts an answer, up to 1 MiB, and for at most 30 seconds.
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
 * The handler for Express or node:http. In Express, other paths go to the next handler. Use it before anything that
 * reads bodies. After a parser, it accepts `request.body` only as bytes or text.
 */
export function toNodeHandler(
  handler: FetchHandler & { serves?(path: string): boolean },
): (request: NodeRequest, response: NodeResponse, next?: (problem?: unknown) => void) => Promise<void>;

/** The notification of a settled session. It never contains claims. */
export interface Notification {
  sessionId: string;
  clientId: string;
  status: 'VERIFIED' | 'FAILED' | 'EXPIRED';
  /** From creation to settlement. */
  latencyMs: number;
  issuerId: string;
}

/** The headers of Node, fetch's `Headers`, or a plain object; names in upper or lower case. */
export type ReceivedHeaders =
  | { get(name: string): string | null }
  | Record<string, string | string[] | undefined>;

/** Notifications of one sender. */
export class Webhook {
  /** `toleranceMs`: how far a timestamp may be from the current time, 1 or more. Default: 5 minutes. */
  constructor(secret: string, options?: { toleranceMs?: number });
  /**
   * Returns the notification in `body`, verified by `webhook-signature` (Standard Webhooks) if there is one, else by
   * `X-Signature`. Pass `body` exactly as it came. Throws `Refused` if the notification is not genuine.
   */
  verify(headers: ReceivedHeaders, body: Data, options?: At): Notification;
  /** The headers of one attempt to deliver `body`; `number` counts from 1. */
  headers(
    body: Data,
    attempt: { id: string; number: number; previousSecret?: string } & At,
  ): Record<string, string>;
}
