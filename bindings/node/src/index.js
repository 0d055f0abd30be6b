'use strict';

const errors = require('./errors.js');
const { Fetcher } = require('./fetcher.js');
const { toNodeHandler } = require('./node_handler.js');
const { Session } = require('./session.js');
const { Signer, didDocument, generateSigningKey, jwks } = require('./signer.js');
const { Trust } = require('./trust.js');
const { Verifier } = require('./verifier.js');
const { wallets } = require('./wallets.js');
const { Webhook } = require('./webhook.js');

module.exports = {
  ...errors,
  Fetcher,
  Session,
  Signer,
  Trust,
  Verifier,
  Webhook,
  didDocument,
  generateSigningKey,
  jwks,
  toNodeHandler,
  wallets,
};
