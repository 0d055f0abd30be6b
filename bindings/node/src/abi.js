'use strict';
// The C ABI as JavaScript values: every call of the library goes through `run`, `runAsync` or a reader of one fact.

const { types } = require('node:util');
const koffi = require('koffi');
const { failure } = require('./failure.js');
const native = require('./library.js');

const ABI_VERSION = 1;

const library = native.load(koffi);
if (library.func('uint32_t idgate_abi_version()')() !== ABI_VERSION) {
  throw new Error(`idgate: this package needs ABI ${ABI_VERSION} of the native library`);
}

const HANDLES = [
  'error',
  'fetcher',
  'session',
  'signer',
  'step',
  'trust',
  'verification',
  'verifier',
  'verifier_options',
];
/** The suffix of type names. koffi keeps each name once, even if a program loads this package twice. */
const COPY = copy();
/** A C declaration with the type names of this copy. */
const own = (declaration) => declaration.replace(/\bidgate_\w+/g, (name) => name + COPY);
const struct = (name, members) =>
  koffi.struct(own(name), Object.fromEntries(Object.entries(members).map(([member, type]) => [member, own(type)])));

for (const name of HANDLES) koffi.opaque(own(`idgate_${name}`));
struct('idgate_bytes', { ptr: 'void *', len: 'size_t' });
struct('idgate_str', { ptr: 'const void *', len: 'size_t' });
struct('idgate_transition', {
  from: 'uint64_t',
  session: 'idgate_session *',
  effects: 'idgate_bytes',
});
koffi.proto(own('int32_t idgate_sign(void *userdata, const uint8_t *input, size_t input_len, void *signature)'));

/** Structs that begin with their size. An omitted member is zero. */
const SIZED = {
  answer: {
    to: 'idgate_str',
    content_type: 'idgate_str',
    body: 'idgate_str',
    from_page: 'uint64_t',
  },
  asked: {
    to: 'idgate_str',
    content_type: 'idgate_str',
    body: 'idgate_str',
    wallet_nonce: 'idgate_str',
  },
  expected: {
    format: 'int32_t',
    profile: 'int32_t',
    issuer_id: 'idgate_str',
    client_id: 'idgate_str',
    nonce: 'idgate_str',
    sent_at_ms: 'uint64_t',
    claims: 'const idgate_str *',
    claims_len: 'size_t',
    claim_paths: 'idgate_str',
    mode: 'int32_t',
    checks: 'uint32_t',
    alg: 'idgate_str',
    doc_type: 'idgate_str',
    name_space: 'idgate_str',
    response_uri: 'idgate_str',
    origin: 'idgate_str',
    enc_key: 'idgate_str',
    apu: 'idgate_str',
  },
  fetch_options: { allow: 'const idgate_str *', allow_len: 'size_t', roots: 'idgate_str' },
  material_options: {
    flags: 'uint64_t',
    now_ms: 'uint64_t',
    signer_ca: 'idgate_str',
    report_out: 'idgate_bytes *',
  },
  new_session: {
    mode: 'int32_t',
    strict: 'uint32_t',
    tenant: 'idgate_str',
    registration: 'idgate_str',
  },
  reply: {
    status: 'uint32_t',
    retry_after_s: 'uint32_t',
    content_type: 'idgate_str',
    body: 'idgate_str',
  },
  webhook: {
    scheme: 'int64_t',
    id: 'idgate_str',
    timestamp: 'idgate_str',
    signature: 'idgate_str',
    body: 'idgate_str',
    tolerance_ms: 'uint64_t',
  },
  webhook_attempt: {
    id: 'idgate_str',
    number: 'uint64_t',
    body: 'idgate_str',
    previous_secret: 'idgate_str',
  },
};
for (const [name, members] of Object.entries(SIZED)) {
  struct(`idgate_${name}`, { size: 'size_t', ...members });
}

const ERR = '_Out_ idgate_error **';
const BYTES_OUT = '_Out_ idgate_bytes *';
const TRANSITION_OUT = '_Out_ idgate_transition *';
const define = (name, parameters, result = 'int32_t') =>
  library.func(`${own(result)} idgate_${name}(${own(parameters)})`);

/** Functions that may fail, without their last parameter, the output for the error. */
const FUNCTIONS = {
  dc_api_requests: `idgate_verifier *, idgate_session *, uint64_t, ${BYTES_OUT}`,
  did_document: `idgate_str, idgate_str, ${BYTES_OUT}`,
  fetcher_new: 'const idgate_fetch_options *, _Out_ idgate_fetcher **',
  jwks: `idgate_str, idgate_str, ${BYTES_OUT}`,
  presentation_begin: 'idgate_trust *, idgate_str, const idgate_expected *, uint64_t, _Out_ idgate_verification **',
  presentation_verify: `idgate_trust *, idgate_str, const idgate_expected *, uint64_t, ${BYTES_OUT}`,
  registration_check: `idgate_signer *, idgate_str, uint64_t, ${BYTES_OUT}`,
  registration_compare: `idgate_verifier *, idgate_str, const idgate_new_session *, uint64_t, ${BYTES_OUT}`,
  request_object: 'idgate_verifier *, idgate_session *, const idgate_asked *, uint64_t, _Out_ idgate_step **',
  session_create: `idgate_verifier *, idgate_str, const idgate_new_session *, uint64_t, ${TRANSITION_OUT}`,
  session_due: `idgate_session *, uint64_t, ${TRANSITION_OUT}`,
  session_followed: `idgate_session *, uint64_t, ${TRANSITION_OUT}`,
  session_info: `idgate_session *, uint64_t, ${BYTES_OUT}`,
  session_released: `idgate_session *, uint64_t, ${TRANSITION_OUT}`,
  session_restore: 'idgate_str, _Out_ idgate_session **',
  session_restore_result: 'idgate_session *, idgate_str, _Out_ idgate_session **',
  session_result: `idgate_session *, int32_t, idgate_str, uint64_t, ${BYTES_OUT}`,
  session_result_snapshot: `idgate_session *, uint64_t, ${BYTES_OUT}`,
  session_snapshot: `idgate_session *, ${BYTES_OUT}`,
  signer_certified: 'idgate_signer *, idgate_str, uint64_t, _Out_ idgate_signer **',
  signer_new: 'idgate_str, idgate_str, _Out_ idgate_signer **',
  signer_new_external: 'idgate_str, idgate_str, idgate_sign *, void *, _Out_ idgate_signer **',
  signer_public_key: `idgate_signer *, ${BYTES_OUT}`,
  signing_key_generate: BYTES_OUT,
  step_reply: 'idgate_step *, _Inout_ idgate_reply *',
  step_transition: `idgate_step *, ${TRANSITION_OUT}`,
  trust_add_issuer: 'idgate_trust *, idgate_str',
  trust_add_material: 'idgate_trust *, idgate_str, int32_t, idgate_str, const idgate_material_options *',
  trust_new: '_Out_ idgate_trust **',
  verification_begin:
    'idgate_verifier *, idgate_session *, const idgate_answer *, uint64_t, _Out_ idgate_verification **',
  verification_fetch: 'idgate_verification *, idgate_fetcher *',
  verification_recall: 'idgate_verification *, idgate_fetcher *, uint64_t, _Out_ bool *',
  verification_settle: 'idgate_verification *, uint64_t',
  verification_step: 'idgate_verification *, _Out_ idgate_step **',
  verification_supply: 'idgate_verification *, size_t, idgate_str, uint64_t',
  verification_wait: 'idgate_verification *, uint32_t, _Out_ bool *',
  verifier_new: 'idgate_verifier_options *, idgate_trust *, _Out_ idgate_verifier **',
  verifier_options_new: 'idgate_str, _Out_ idgate_verifier_options **',
  webhook_headers: `idgate_str, const idgate_webhook_attempt *, uint64_t, ${BYTES_OUT}`,
  webhook_verify: 'idgate_str, const idgate_webhook *, uint64_t',
};

/** Choices for a verifier. Their only error is misuse, without a message. */
const CHOICES = {
  verifier_options_client_id: 'int32_t',
  verifier_options_dc_api: 'int32_t',
  verifier_options_former_signer: 'idgate_signer *',
  verifier_options_profile: 'int32_t',
  verifier_options_request_mode: 'int32_t',
  verifier_options_request_uri_post: '',
  verifier_options_response_mode: 'int32_t',
  verifier_options_signer: 'idgate_signer *',
  verifier_options_trust_version: 'uint64_t',
};

const lib = {};
for (const [name, parameters] of Object.entries(FUNCTIONS)) lib[name] = define(name, `${parameters}, ${ERR}`);
for (const [name, choice] of Object.entries(CHOICES)) {
  lib[name] = define(name, ['idgate_verifier_options *', choice].filter(Boolean).join(', '));
}
for (const name of HANDLES) lib[`${name}_free`] = define(`${name}_free`, `idgate_${name} *`);
const freeBytes = define('bytes_free', 'idgate_bytes');
const stepKind = define('step_kind', 'idgate_step *');
const stepJson = define('step_json', 'idgate_step *', 'idgate_str');
const errorReply = define('error_reply', 'idgate_error *, _Inout_ idgate_reply *');
const PARTS = ['code', 'message', 'path', 'issuer', 'field', 'check', 'clause', 'hint', 'remedy'].map((part) => [
  part,
  define(`error_${part}`, 'idgate_error *', 'idgate_str'),
]);

/** The first suffix that no other copy of this package uses in this koffi. */
function copy() {
  for (let number = 1; ; number += 1) {
    const ending = number === 1 ? '' : `_${number}`;
    try {
      koffi.opaque(`idgate_copy${ending}`);
      return ending;
    } catch (fault) {
      if (!/^Duplicate type name/.test(fault.message)) throw fault;
    }
  }
}

/** Registers the signing function `callback`, until koffi.unregister. */
function signing(callback) {
  return koffi.register(callback, own('idgate_sign *'));
}

/** Kinds of outputs: the memory that the library writes to, and a way to read it. */
const HANDLE = { place: () => [null], read: ([pointer]) => pointer };
const FLAG = { place: () => [false], read: ([flag]) => flag };
const BYTES = { place: () => ({}), read: take };
const JSON_TEXT = { place: () => ({}), read: takeJson };
const STRUCT = { place: () => ({}), read: (made) => made };
const STEP = { place: () => [null], read: ([pointer]) => takeStep(pointer) };

/** Calls `name`, with an output of that kind if there is one, and throws the library's error. */
function run(name, inputs, kind) {
  const failed = [null];
  const place = kind?.place();
  const status = lib[name](...inputs, ...(kind ? [place] : []), failed);
  if (status !== 0) throw thrown(status, failed[0]);
  return kind?.read(place);
}

// koffi refuses calls beyond its limit of parallel calls. On a busy server they wait here.
const MAX_RUNNING = 32;
const waiting = [];
let running = 0;

/** The same on a worker thread. */
async function runAsync(name, inputs, kind) {
  if (running >= MAX_RUNNING) await new Promise((resolve) => waiting.push(resolve));
  else running += 1;
  try {
    const place = kind?.place();
    await onWorker(name, kind ? [...inputs, place] : inputs);
    return kind?.read(place);
  } finally {
    // The call that has waited longest is next.
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  }
}

function onWorker(name, parameters) {
  const failed = [null];
  return new Promise((resolve, reject) => {
    lib[name].async(...parameters, failed, (fault, status) => {
      // koffi does not reference the bytes that the worker reads, so this function keeps them alive until here.
      parameters = null;
      if (fault) reject(fault);
      else if (status !== 0) reject(thrown(status, failed[0]));
      else resolve();
    });
  });
}

/** Makes a choice for a verifier. */
function choose(choices, name, ...choice) {
  const status = lib[`verifier_options_${name}`](choices, ...choice);
  if (status !== 0) throw failure(status, { code: 'misuse', message: `${name} cannot be chosen` });
}

/** Frees an object that has no `Handle`. */
function free(name, pointer) {
  lib[`${name}_free`](pointer);
}

/** The bytes, which the library then wipes and frees. */
function take(given) {
  const len = Number(given.len);
  if (len === 0) return Buffer.alloc(0);
  try {
    return Buffer.from(koffi.decode(given.ptr, 'uint8_t', len));
  } finally {
    freeBytes(given);
  }
}

/** The JSON value of bytes, which the library then wipes and frees. */
function takeJson(given) {
  try {
    return JSON.parse(textOf(given));
  } finally {
    freeBytes(given);
  }
}

/** The parts of a step, which is then freed. A step without a reply causes no error. */
function takeStep(pointer) {
  try {
    const transition = {};
    const made = lib.step_transition(pointer, transition, null) === 0 && transition.session !== null;
    const json = textOf(stepJson(pointer));
    return {
      kind: stepKind(pointer),
      transition: made ? transition : null,
      reply: replyOf((reply) => lib.step_reply(pointer, reply, null)),
      told: json === '' ? null : JSON.parse(json),
    };
  } finally {
    free('step', pointer);
  }
}

/** An HTTP reply; null if there is none. */
function replyOf(ask) {
  const reply = sized('reply', {});
  if (ask(reply) !== 0) return null;
  const headers = { 'cache-control': 'no-store', 'content-type': textOf(reply.content_type) };
  if (reply.retry_after_s > 0) headers['retry-after'] = `${reply.retry_after_s}`;
  return Object.freeze({ status: reply.status, headers: Object.freeze(headers), body: textOf(reply.body) });
}

/** Text of the library. It ends at a 0 byte, which no text contains. */
function textOf({ ptr, len }) {
  return Number(len) === 0 ? '' : koffi.decode(ptr, 'char', Number(len));
}

const EMPTY = Buffer.alloc(1);
const NOTHING = Object.freeze({ ptr: null, len: 0 });

/** Text or bytes in the library's form; null: not given. */
function str(value) {
  if (value === null || value === undefined) return NOTHING;
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  // A pointer to no bytes is not NULL.
  return bytes.byteLength === 0 ? { ptr: EMPTY, len: 0 } : { ptr: bytes, len: bytes.byteLength };
}

/** A struct that begins with its size. */
function sized(name, members) {
  return { size: koffi.sizeof(own(`idgate_${name}`)), ...members };
}

/** Runs `work` with an output for bytes, and returns those bytes as JSON. */
function withReport(work) {
  const place = koffi.alloc(own('idgate_bytes'), 1);
  try {
    koffi.encode(place, own('idgate_bytes'), { ptr: null, len: 0 });
    work(place);
    return takeJson(koffi.decode(place, own('idgate_bytes')));
  } finally {
    koffi.free(place);
  }
}

/** The time, or the current time, in milliseconds since 1970. */
function millis(time) {
  if (time === null || time === undefined) return Date.now();
  if (!types.isDate(time)) throw new TypeError('now is not a Date');
  return count(time.getTime(), 'the time');
}

/** Checks the range of a number, which koffi would otherwise truncate. */
function count(value, name, { least = 0, most = Number.MAX_SAFE_INTEGER } = {}) {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`${name} is not a whole number from ${least} to ${most}`);
}

function thrown(status, handle) {
  const told = Object.fromEntries(PARTS.map(([part, read]) => [part, textOf(read(handle))]));
  const reply = replyOf((place) => errorReply(handle, place));
  free('error', handle);
  return failure(status, { ...told, reply });
}

const forgotten = new FinalizationRegistry(({ name, pointer }) => free(name, pointer));

/** An object of the library. It is released by `using`, `await using`, `close()`, or when it is collected. */
class Handle {
  #pointer;
  #name;

  constructor(name, pointer) {
    this.#pointer = pointer;
    this.#name = name;
    forgotten.register(this, { name, pointer }, this);
  }

  /** For the functions of this package; `what` names the parameter. */
  static pointer(handle, kind, what) {
    if (!(handle instanceof kind)) throw new TypeError(`${what} is not a ${kind.name}`);
    if (handle.#pointer === null) throw new TypeError(`this ${kind.name} is closed`);
    return handle.#pointer;
  }

  /** Releases the object now. Objects that were made with it keep working. */
  close() {
    if (this.#pointer === null) return;
    forgotten.unregister(this);
    free(this.#name, this.#pointer);
    this.#pointer = null;
  }

  [Symbol.dispose ?? Symbol.for('Symbol.dispose')]() {
    this.close();
  }

  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
    this.close();
  }
}

module.exports = {
  BYTES,
  FLAG,
  HANDLE,
  Handle,
  JSON_TEXT,
  STEP,
  STRUCT,
  choose,
  count,
  free,
  koffi,
  millis,
  pointer: Handle.pointer,
  run,
  runAsync,
  signing,
  sized,
  str,
  takeJson,
  withReport,
};
