import idgate from './index.js';

export const {
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
