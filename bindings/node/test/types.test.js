'use strict';
// Programs that must not compile, each with its error, and the types together with those of fetch and Express.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const ts = require('typescript');

const FOLDER = __dirname;
const GIVEN = `
import { IdgateError, Session, Trust, Verifier, Webhook, wallets, toNodeHandler } from 'idgate';
import type { Credential, Decision, Effect, SessionInfo, SessionRequest, Store, Verdict } from 'idgate';
declare const trust: Trust, verifier: Verifier, session: Session, info: SessionInfo, effect: Effect, decision: Decision;
declare const verdict: Verdict, error: IdgateError, store: Store, credential: Credential;
const live = { mode: 'live' } as const;
const card = { id: 'a', issuerId: 'i', claims: ['x'] };
const never = (value: never): never => value;
`;
// Some errors have a second code, with a message that also suggests a name.
const UNKNOWN_PROPERTY = [2353, 2561];
const NO_SUCH_MEMBER = [2339, 2551];
const WRONG_TYPE = [2322, 2820];
const WRONG_ARGUMENT = [2345];
const MISSING_ARGUMENT = [2554];
const MISSING_MEMBER = [2741];
const NO_OVERLAP = [2367];
const READ_ONLY = [2540];
const PRIVATE_CONSTRUCTOR = [2673];
const PROTECTED_CONSTRUCTOR = [2674];

/** A program and its error, by the mistake in it. */
const WRONG = {
  'a request with a misspelt field': ['verifier.createSession({ credential: [] }, live)', UNKNOWN_PROPERTY],
  'a field of the wire in an object': [
    "verifier.createSession({ credentials: [{ format: 'dc+sd-jwt', issuer_id: 'i', claims: [] }] }, live)",
    UNKNOWN_PROPERTY,
  ],
  'a field of the wire in a request by issuer': ["verifier.createSession({ issuer_id: 'i' }, live)", UNKNOWN_PROPERTY],
  'an unknown format': ["verifier.createSession({ credentials: [{ ...card, format: 'sd-jwt' }] }, live)", WRONG_TYPE],
  'paths of claims of an mdoc': [
    "const wrong: Credential = { ...card, format: 'mso_mdoc', claimPaths: { x: ['y'] } }",
    UNKNOWN_PROPERTY,
  ],
  'a document type of an SD-JWT VC': [
    "const wrong: Credential = { ...card, format: 'dc+sd-jwt', docType: 'd' }",
    UNKNOWN_PROPERTY,
  ],
  'a session without a mode': ['verifier.createSession({ credentials: [] })', MISSING_ARGUMENT],
  'a session with an unknown mode': ["verifier.createSession({ credentials: [] }, { mode: 'prod' })", WRONG_TYPE],
  'a session of true': ['verifier.createSession({ credentials: [] }, true)', WRONG_ARGUMENT],
  'a verifier without profiles': ["new Verifier('https://a.example', trust)", MISSING_ARGUMENT],
  'a verifier without profiles among its options': ["new Verifier('https://a.example', trust, {})", WRONG_ARGUMENT],
  'a verifier with an unknown profile': ["new Verifier('https://a.example', trust, { profiles: ['2.0'] })", WRONG_TYPE],
  'a link without a look at the status': ['info.qrCodeUrl', NO_SUCH_MEMBER],
  'a reason without a look at the status': ['info.reason', NO_SUCH_MEMBER],
  'a link of a session that is verified': ["if (info.status === 'VERIFIED') info.qrCodeUrl", NO_SUCH_MEMBER],
  'a misspelt status': ["info.status === 'VERYFIED'", NO_OVERLAP],
  'the time of an effect that has none': ["if (effect.type === 'publishStatus') effect.at", NO_SUCH_MEMBER],
  'the time of any effect': ['effect.at', NO_SUCH_MEMBER],
  'the kind of an error': ["error.kind === 'misuse'", NO_SUCH_MEMBER],
  'a result that nobody reads': ['session.result()', MISSING_ARGUMENT],
  'a result of a reader without a code': ['session.result({})', WRONG_ARGUMENT],
  'a result of an unknown reader': ["session.result('browser')", WRONG_ARGUMENT],
  'a result by the code of the wire': ["session.result({ response_code: 'x' })", UNKNOWN_PROPERTY],
  'a misspelt decision': ['decision.repl', NO_SUCH_MEMBER],
  'the reason of any decision': ['decision.reason', NO_SUCH_MEMBER],
  'the claims of any verdict': ['verdict.claims', NO_SUCH_MEMBER],
  'the refusal of a good verdict': ['if (verdict.ok) verdict.refused', NO_SUCH_MEMBER],
  'a switch without an effect': [
    "switch (effect.type) { case 'publishStatus': case 'expireAt': break; default: never(effect) }",
    WRONG_ARGUMENT,
  ],
  'a switch without a status': [
    "switch (info.status) { case 'CREATED': case 'VERIFYING': case 'VERIFIED': case 'FAILED': break; default: never(info) }",
    WRONG_ARGUMENT,
  ],
  'a switch without a reply': [
    "switch (decision.reply) { case 'accepted': case 'refused': break; default: never(decision) }",
    WRONG_ARGUMENT,
  ],
  'a switch without a format': [
    "switch (credential.format) { case 'mso_mdoc': case 'dc+sd-jwt': break; default: never(credential) }",
    WRONG_ARGUMENT,
  ],
  'an answer without the handle that it was posted to': [
    "verifier.decide(session, { body: 'x' }, store)",
    WRONG_ARGUMENT,
  ],
  'an answer with a header of the wire': [
    "verifier.decide(session, { to: 'x', body: 'x', content_type: 'x' }, store)",
    UNKNOWN_PROPERTY,
  ],
  'a store that does not say whether it stored': [
    'verifier.decide(session, { dcApi: {} }, { commit() {} })',
    WRONG_TYPE,
  ],
  'a store that waits where nothing can': [
    'verifier.decideSync(session, { dcApi: {} }, { commit: async () => true })',
    WRONG_TYPE,
  ],
  'a store without load': ['wallets(verifier, { commit: () => true })', WRONG_ARGUMENT],
  'an expectation without a nonce': [
    "trust.check('x', { format: 'dc+sd-jwt', issuerId: 'i', clientId: 'c' })",
    WRONG_ARGUMENT,
  ],
  'an mdoc without a document type': [
    "trust.check('x', { format: 'mso_mdoc', issuerId: 'i', clientId: 'c', nonce: 'n' })",
    WRONG_ARGUMENT,
  ],
  'an issuer without a name': ['new Trust([{ vcts: [] }])', MISSING_MEMBER],
  'an issuer with a misspelt field': ["new Trust([{ id: 'i', doctypes: [] }])", UNKNOWN_PROPERTY],
  'an issuer of the wire': ["new Trust([{ id: 'i', doc_types: [] }])", UNKNOWN_PROPERTY],
  'material that is added later': ["trust.addRoots('i', 'x')", NO_SUCH_MEMBER],
  'trust that changes': ['trust.lists = []', READ_ONLY],
  'a session out of nothing': ['new Session()', PRIVATE_CONSTRUCTOR],
  'an error that was not': ["new IdgateError('x')", PROTECTED_CONSTRUCTOR],
  'a notification without a body': ["new Webhook('s').verify({})", MISSING_ARGUMENT],
  'fetching by text': ["new Verifier('https://a.example', trust, { profiles: ['1.0'], fetch: 'yes' })", WRONG_TYPE],
  'a browser request by an unknown word': [
    "new Verifier('https://a.example', trust, { profiles: ['1.0'], dcApi: 'on' })",
    WRONG_TYPE,
  ],
};

/** The codes of the errors of each program, by its name. */
function compiled(programs, lib = ['lib.es2022.d.ts']) {
  const options = {
    noEmit: true,
    strict: true,
    target: ts.ScriptTarget.ES2022,
    lib,
    types: [],
    module: ts.ModuleKind.Node16,
    moduleResolution: ts.ModuleResolutionKind.Node16,
  };
  const files = new Map(Object.values(programs).map((text, at) => [path.join(FOLDER, `program${at}.mts`), text]));
  const host = ts.createCompilerHost(options);
  const [fileExists, getSourceFile] = [host.fileExists, host.getSourceFile].map((one) => one.bind(host));
  host.fileExists = (name) => files.has(name) || fileExists(name);
  host.getSourceFile = (name, version) =>
    files.has(name) ? ts.createSourceFile(name, files.get(name), version) : getSourceFile(name, version);
  const program = ts.createProgram([...files.keys()], options, host);
  const names = Object.keys(programs);
  return Object.fromEntries(
    [...files.keys()].map((file, at) => {
      const source = program.getSourceFile(file);
      const faults = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
      return [names[at], faults.map(({ code }) => code)];
    }),
  );
}

test('the programs that must not compile do not, for the reason that they should not', () => {
  const programs = Object.fromEntries(Object.entries(WRONG).map(([name, [text]]) => [name, `${GIVEN}${text};\n`]));
  const found = compiled({ ...programs, none: GIVEN });
  assert.deepEqual(found.none, [], 'what they have in common compiles');
  const others = Object.entries(WRONG).filter(([name, [, codes]]) => {
    return found[name].length !== 1 || !codes.includes(found[name][0]);
  });
  assert.deepEqual(
    others.map(([name]) => [name, found[name]]),
    [],
  );
});

test('the types need no others, and fit those of fetch and Express', () => {
  const fetching = `
    declare function serve(handler: (request: Request) => Response | Promise<Response>): void;
    serve(wallets(verifier, store));
    new Webhook('s').verify(new Headers(), 'x');
  `;
  const express = `
    interface Incoming { method?: string; url?: string; rawHeaders: string[]; headers: object }
    interface Outgoing {
      statusCode: number;
      setHeader(name: string, value: string | string[]): this;
      end(body?: unknown): this;
    }
    type Handler = (request: Incoming, response: Outgoing, next: (problem?: any) => void) => unknown;
    declare function use(handler: Handler): void;
    use(toNodeHandler(wallets(verifier, store)));
  `;
  assert.deepEqual(compiled({ express: GIVEN + express }).express, []);
  const both = compiled({ fetching: GIVEN + fetching, express: GIVEN + express }, ['lib.es2022.d.ts', 'lib.dom.d.ts']);
  assert.deepEqual(both, { fetching: [], express: [] });
});

test('the types have every code of the core', () => {
  const root = path.join(FOLDER, '..', '..', '..');
  const core = fs.readFileSync(path.join(root, 'idgate-core', 'src', 'error', 'code.rs'), 'utf8');
  const types = fs.readFileSync(path.join(FOLDER, '..', 'index.d.ts'), 'utf8');
  for (const name of ['Reason', 'WalletError']) {
    const [, table] = new RegExp(`\\n {4}${name} \\{\\n(.*?)\\n {4}\\}`, 's').exec(core);
    const [, union] = new RegExp(`\\nexport type ${name} =\\n(.*?);`, 's').exec(types);
    const codes = [...table.matchAll(/=> "(\w+)"/g)].map(([, code]) => code);
    assert.deepEqual(
      [...union.matchAll(/'(\w+)'/g)].map(([, code]) => code),
      codes,
    );
    assert.ok(codes.length > 10);
  }
});
