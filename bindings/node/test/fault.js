'use strict';
// Load this before a program to make its verifications fail with the error FAULT.

const idgate = require('idgate');

idgate.Verifier.prototype.decide = async () => {
  const Fault = idgate[process.env.FAULT] ?? TypeError;
  throw new Fault({ why: 'a fault of the test', message: 'a fault of the test' });
};
