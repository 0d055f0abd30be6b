// Read by `npm run types`; nothing here is run.
import { IdgateError, Session, Trust, Verifier, webhook } from 'idgate';

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

// @ts-expect-error: a nonce is not optional
new Trust().verify('', { format: 'vc+sd-jwt', issuerId: '', clientId: '' });
// @ts-expect-error: sessions are made by a verifier or restored
new Session();
webhook.verify('secret', { 'webhook-id': 'x' }, 'body', { toleranceMs: 1 });
// @ts-expect-error: there is no such option
new Trust().addIssuer('', { vcts: [] });
export const why: string | null | undefined = new Trust().addVical('', new Uint8Array())[0]?.skippedBecause;
