// Checked by `npm run types` and never run. The programs that must not compile are in types.test.js.
import {
  Fetcher,
  IdgateError,
  Misconfigured,
  Refused,
  RequestInvalid,
  Session,
  Trust,
  Verifier,
  Webhook,
  Withheld,
  toNodeHandler,
  wallets,
} from 'idgate';
import type { Credential, Decision, Effect, Issuer, SessionInfo, SessionRequest, Store, Verdict } from 'idgate';

interface Pid {
  birthdate: string;
}

const issuers: Issuer[] = [
  { id: 'https://issuer.example', vcts: ['urn:eudi:pid:1'], jwk: '{}', revocation: 'required' },
  { id: 'https://dmv.example', docTypes: ['org.iso.18013.5.1.mDL'], iacaRoots: new Uint8Array() },
  { id: 'card', jwk: '{}', onUnknownRevocation: 'tenant' },
  { id: 'list', testOnly: true, vical: { file: new Uint8Array(), allowStale: true } },
];

const request: SessionRequest = {
  credentials: [
    { id: 'pid', format: 'dc+sd-jwt', issuerId: 'a', claims: ['city'], claimPaths: { city: ['address', 'locality'] } },
    { id: 'mdl', format: 'mso_mdoc', issuerId: 'b', docType: 'd', claims: ['age_over_18'] },
  ],
  profiles: ['haip', '1.0'],
  dcApi: { origins: ['https://shop.example'] },
  transactionData: [{ type: 'pay', credentialIds: ['pid'], amount: 1 }],
};

const kept = new Map<string, Session>();
const store: Store = {
  load: (handle) => kept.get(handle),
  commit({ session }) {
    for (const handle of session.handles) kept.set(handle, session);
    return true;
  },
};

export async function shop(body: Uint8Array, stored: Uint8Array): Promise<string> {
  using trust = new Trust(issuers);
  await using verifier = new Verifier('https://shop.example', trust, { profiles: ['1.0'] });
  const made = verifier.createSession(request, { mode: 'live', tenant: 'shop' });
  verifier.createSession('{}', { mode: 'test' });
  verifier.createSession(body, { mode: 'test' });
  try {
    const session = Session.restore(stored);
    const answer = { to: session.id, body, contentType: null };
    const decision = await verifier.decide(session, answer, store, { fetch: async () => null });
    verifier.decideSync(session, { dcApi: { protocol: 'x' } }, { commit: () => true });
    const { birthdate } = decision.transition.session.result({ responseCode: null }).credential<Pid>('pid');
    return `${birthdate} ${link(made.session.info())} ${told(decision)} ${made.effects.map(when)}`;
  } catch (error) {
    if (error instanceof Withheld) return error.reason;
    if (error instanceof RequestInvalid) return error.path + error.rule;
    if (error instanceof Misconfigured) return `${error.issuer} ${error.field}`;
    if (error instanceof IdgateError) return error.code;
    throw error;
  }
}

function link(info: SessionInfo): string {
  switch (info.status) {
    case 'CREATED':
    case 'PENDING':
      return info.qrCodeUrl;
    case 'VERIFYING':
      return '';
    case 'VERIFIED':
      return info.settledAt.toISOString();
    case 'FAILED':
    case 'EXPIRED':
      return info.reason;
    default:
      return never(info);
  }
}

function told(decision: Decision): string {
  switch (decision.reply) {
    case 'accepted':
      return decision.redirectUri ?? '';
    case 'errorNoted':
      return decision.walletError;
    case 'refused':
      return decision.reason;
    default:
      return never(decision);
  }
}

function when(effect: Effect): Date {
  switch (effect.type) {
    case 'publishStatus':
      return effect.occurredAt;
    case 'expireAt':
    case 'redactClaimsAt':
      return effect.at;
    default:
      return never(effect);
  }
}

export function place(credential: Credential): unknown {
  switch (credential.format) {
    case 'mso_mdoc':
      return credential.docType;
    case 'dc+sd-jwt':
    case 'vc+sd-jwt':
      return credential.claimPaths;
    default:
      return never(credential);
  }
}

function never(value: never): never {
  throw value;
}

export async function check(trust: Trust, token: string): Promise<string | Refused> {
  const sent = { issuerId: 'a', clientId: 'c', nonce: 'n' };
  const verdict: Verdict<Pid> = await trust.check(token, { format: 'dc+sd-jwt', ...sent, claims: ['birthdate'] });
  return verdict.ok ? verdict.claims.birthdate : verdict.refused;
}

export function page(verifier: Verifier, session: Session): boolean {
  const { requests } = verifier.dcApiRequests(session);
  const protocol: string | undefined = requests[0]?.protocol;
  const origins: string[] | undefined = session.info().dcApi?.origins;
  return protocol !== undefined && origins !== undefined;
}

export const offline = new Verifier('https://shop.example', new Trust([]), { profiles: ['1.0'], fetch: false });
using fetcher = new Fetcher({ allow: ['10.0.0.0/8'], roots: new Uint8Array() });
export const own = new Verifier('https://shop.example', new Trust([]), { profiles: ['draft'], fetch: fetcher });
export const notification = new Webhook('secret').verify({ 'webhook-id': ['x'] }, 'body').status;
export const { serves } = wallets(offline, store, { onFault() {} });
export const listener = toNodeHandler(wallets(offline, store));
