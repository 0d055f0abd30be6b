import idgate from './index.js';

export const {
  Fetcher,
  IdgateError,
  InternalError,
  Misconfigured,
  NotAnAnswer,
  NotAvailable,
  Refused,
  RequestInvalid,
  Session,
  Signer,
  Trust,
  Verifier,
  Webhook,
  Withheld,
  didDocument,
  generateSigningKey,
  jwks,
  toNodeHandler,
  wallets,
} = idgate;
