'use strict';

const { IdgateError } = require('./errors.js');
const { Fetcher } = require('./fetcher.js');
const { Session } = require('./session.js');
const { Signer, didDocument, generateSigningKey, jwks } = require('./signer.js');
const { Trust } = require('./trust.js');
const { Verification, Verifier } = require('./verifier.js');
const webhook = require('./webhook.js');

module.exports = {
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
};
