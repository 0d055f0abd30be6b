import idgate from './index.js';

export const {
  Fetcher,
  IdgateError,
  Session,
  Signer,
  Trust,
  Verification,
  Verifier,
  didDocument,
  generateSigningKey,
  jwks,
  webhook,
} = idgate;
