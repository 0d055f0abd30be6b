'use strict';
// Loaded before a program: its verifications fail with an error of the kind FAULT.

const { IdgateError, Verification } = require('idgate');

Verification.prototype.decide = async () => {
  throw new IdgateError(process.env.FAULT, 'at_fault', 'a fault of the test');
};
