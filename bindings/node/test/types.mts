// Read by `npm run types`; nothing here is run.
import { Fetcher, IdgateError, Session, Trust, Verifier, webhook } from 'idgate';

export async function shop(body: Uint8Array, stored: Uint8Array): Promise<string | null> {
  using trust = new Trust();
  trust.addIssuer('https://issuer.example', { vct: ['urn:eudi:pid:1'], revocation: 'required' });
  using verifier = new Verifier('https://shop.example', trust);
  const made = verifier.createSession({ credentials: [] }, { tenant: 'shop' });
  const url: string | null = made.session.info().qrCodeUrl;
  try {
    using verification = verifier.begin(Session.restore(stored), body, null);
    const decision = await verification.decide({ commit() {}, fetch: async () => null });
    const claims: unknown = decision.transition.session.resultFor(null)?.claims;
    if (claims) return 'verified';
    const revision: number = decision.transition.fromRevision;
    return revision > 0 ? decision.reason : url;
  } catch (error) {
    if (error instanceof IdgateError) return error.code;
    throw error;
  }
}

export async function disposed(verifier: Verifier, session: Session): Promise<Uint8Array> {
  await using verification = verifier.begin(session, new Uint8Array(), null);
  const { report } = await verification.decide({ commit() {} });
  const passed: boolean | undefined = report.credentials[0]?.[0]?.passed;
  return passed ? session.snapshot() : new Uint8Array();
}

export function page(verifier: Verifier, session: Session, answer: string): boolean {
  const { requests } = verifier.dcApiRequests(session);
  const protocol: string | undefined = requests[0]?.protocol;
  const origins: string[] | undefined = session.info().dcApi?.origins;
  using verification = verifier.beginDcApi(session, answer);
  return verification.step().kind === 'done' && protocol !== undefined && origins !== undefined;
}

export const offline = new Verifier('https://shop.example', new Trust(), { fetch: false });
using fetcher = new Fetcher({ allow: ['10.0.0.0/8'], roots: new Uint8Array() });
export const own = new Verifier('https://shop.example', new Trust(), { fetch: fetcher });
// @ts-expect-error: it is fetched, or not
new Verifier('https://shop.example', new Trust(), { fetch: 'yes' });
// @ts-expect-error: there is no such way to ask
new Verifier('https://shop.example', new Trust(), { dcApi: 'on' });
// @ts-expect-error: a nonce is not optional
new Trust().verify('', { format: 'vc+sd-jwt', issuerId: '', clientId: '' });
// @ts-expect-error: sessions are made by a verifier or restored
new Session();
webhook.verify('secret', { 'webhook-id': 'x' }, 'body', { toleranceMs: 1 });
// @ts-expect-error: there is no such option
new Trust().addIssuer('', { vcts: [] });
export const why: string | null | undefined = new Trust().addVical('', new Uint8Array())[0]?.skippedBecause;
