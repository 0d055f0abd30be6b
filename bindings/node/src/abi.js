'use strict';
// The C ABI as JavaScript values. No checks of its own: the library decides.

const koffi = require('koffi');
const { IdgateError } = require('./errors.js');
const native = require('./library.js');

const ABI_VERSION = 1;
const KINDS = [
  'ok',
  'refused',
  'bad_request',
  'bad_response',
  'config',
  'misuse',
  'unavailable',
  'nothing',
  'internal',
];

const library = native.load(koffi);
if (library.func('uint32_t idgate_abi_version()')() !== ABI_VERSION) {
  throw new Error(`idgate: this package needs ABI ${ABI_VERSION} of the native library`);
}

for (const name of ['error', 'fetcher', 'session', 'signer', 'trust', 'verification', 'verifier']) {
  koffi.opaque(`idgate_${name}`);
}
koffi.struct('idgate_bytes', { ptr: 'void *', len: 'size_t' });
koffi.struct('idgate_transition', {
  from: 'uint64_t',
  session: 'idgate_session *',
  effects: 'idgate_bytes',
});
koffi.struct('idgate_step', {
  kind: 'int32_t',
  transition: 'idgate_transition',
  json: 'idgate_bytes',
});
koffi.proto(
  'int32_t idgate_sign(void *userdata, const uint8_t *input, size_t input_len, void *signature)',
);

const TEXT = 'const uint8_t *, size_t';
const HANDLES = 'idgate_signer **, size_t';
const ERR = '_Out_ idgate_error **';
const define = (name, parameters) => library.func(`int32_t idgate_${name}(${parameters})`);

const error = {
  code: define('error_code', 'idgate_error *, _Out_ idgate_bytes *'),
  message: define('error_message', 'idgate_error *, _Out_ idgate_bytes *'),
  path: define('error_path', 'idgate_error *, _Out_ idgate_bytes *'),
  clause: define('error_clause', 'idgate_error *, _Out_ idgate_bytes *'),
  free: define('error_free', 'idgate_error *'),
};
const freeBytes = define('bytes_free', 'idgate_bytes');

const lib = {
  trust_new: define('trust_new', `_Out_ idgate_trust **, ${ERR}`),
  trust_add_entry: define('trust_add_entry', `idgate_trust *, ${TEXT}, ${ERR}`),
  trust_add: define(
    'trust_add',
    `idgate_trust *, ${TEXT}, int32_t, ${TEXT}, ${TEXT}, uint32_t, uint64_t, _Out_ idgate_bytes *, ${ERR}`,
  ),
  trust_free: define('trust_free', 'idgate_trust *'),
  verify_presentation: define(
    'verify_presentation',
    `idgate_trust *, ${TEXT}, ${TEXT}, uint64_t, _Out_ idgate_bytes *, ${ERR}`,
  ),
  verifier_new: define(
    'verifier_new',
    `${TEXT}, ${TEXT}, ${HANDLES}, ${HANDLES}, idgate_trust *, uint64_t, _Out_ idgate_verifier **, ${ERR}`,
  ),
  verifier_free: define('verifier_free', 'idgate_verifier *'),
  session_create: define(
    'session_create',
    `idgate_verifier *, ${TEXT}, ${TEXT}, bool, uint64_t, _Out_ idgate_transition *, ${ERR}`,
  ),
  offer_request_object: define(
    'offer_request_object',
    `idgate_verifier *, idgate_session *, ${TEXT}, ${TEXT}, uint64_t, _Out_ idgate_transition *, _Out_ idgate_bytes *, ${ERR}`,
  ),
  dc_api_requests: define(
    'dc_api_requests',
    `idgate_verifier *, idgate_session *, uint64_t, _Out_ idgate_bytes *, ${ERR}`,
  ),
  dc_api_verification_begin: define(
    'dc_api_verification_begin',
    `idgate_verifier *, idgate_session *, ${TEXT}, uint64_t, _Out_ idgate_verification **, ${ERR}`,
  ),
  session_snapshot: define('session_snapshot', `idgate_session *, _Out_ idgate_bytes *, ${ERR}`),
  session_restore: define('session_restore', `${TEXT}, _Out_ idgate_session **, ${ERR}`),
  session_result_snapshot: define(
    'session_result_snapshot',
    `idgate_session *, uint64_t, _Out_ idgate_bytes *, ${ERR}`,
  ),
  session_restore_result: define(
    'session_restore_result',
    `idgate_session *, ${TEXT}, _Out_ idgate_session **, ${ERR}`,
  ),
  session_info: define('session_info', `idgate_session *, uint64_t, _Out_ idgate_bytes *, ${ERR}`),
  session_result: define(
    'session_result',
    `idgate_session *, uint64_t, _Out_ idgate_bytes *, ${ERR}`,
  ),
  session_result_for: define(
    'session_result_for',
    `idgate_session *, ${TEXT}, uint64_t, _Out_ idgate_bytes *, ${ERR}`,
  ),
  session_followed: define(
    'session_followed',
    `idgate_session *, uint64_t, _Out_ idgate_transition *, ${ERR}`,
  ),
  session_due: define('session_due', `idgate_session *, uint64_t, _Out_ idgate_transition *, ${ERR}`),
  session_released: define(
    'session_released',
    `idgate_session *, uint64_t, _Out_ idgate_transition *, ${ERR}`,
  ),
  session_free: define('session_free', 'idgate_session *'),
  offer_verification_begin: define(
    'offer_verification_begin',
    `idgate_verifier *, idgate_session *, ${TEXT}, ${TEXT}, ${TEXT}, uint64_t, _Out_ idgate_verification **, ${ERR}`,
  ),
  verification_step: define('verification_step', `idgate_verification *, _Out_ idgate_step *, ${ERR}`),
  verification_supply: define(
    'verification_supply',
    `idgate_verification *, size_t, bool, ${TEXT}, uint64_t, ${ERR}`,
  ),
  verification_free: define('verification_free', 'idgate_verification *'),
  fetcher_new: define('fetcher_new', `${TEXT}, _Out_ idgate_fetcher **, ${ERR}`),
  fetcher_free: define('fetcher_free', 'idgate_fetcher *'),
  verification_recall: define(
    'verification_recall',
    `idgate_verification *, idgate_fetcher *, uint64_t, _Out_ bool *, ${ERR}`,
  ),
  verification_fetch: define('verification_fetch', `idgate_verification *, idgate_fetcher *, ${ERR}`),
  verification_wait: define('verification_wait', `idgate_verification *, uint32_t, _Out_ bool *, ${ERR}`),
  verification_settle: define('verification_settle', `idgate_verification *, uint64_t, ${ERR}`),
  signing_key_generate: define('signing_key_generate', `_Out_ idgate_bytes *, ${ERR}`),
  signer_new: define('signer_new', `${TEXT}, ${TEXT}, _Out_ idgate_signer **, ${ERR}`),
  signer_new_external: define(
    'signer_new_external',
    `${TEXT}, ${TEXT}, idgate_sign *, void *, _Out_ idgate_signer **, ${ERR}`,
  ),
  signer_certified: define(
    'signer_certified',
    `idgate_signer *, ${TEXT}, uint64_t, _Out_ idgate_signer **, ${ERR}`,
  ),
  registration_check: define(
    'registration_check',
    `idgate_signer *, ${TEXT}, uint64_t, _Out_ idgate_bytes *, ${ERR}`,
  ),
  registration_compare: define(
    'registration_compare',
    `idgate_verifier *, ${TEXT}, ${TEXT}, bool, uint64_t, _Out_ idgate_bytes *, ${ERR}`,
  ),
  session_create_registered: define(
    'session_create_registered',
    `idgate_verifier *, ${TEXT}, ${TEXT}, bool, ${TEXT}, bool, uint64_t, _Out_ idgate_transition *, ${ERR}`,
  ),
  signer_public_key: define('signer_public_key', `idgate_signer *, _Out_ idgate_bytes *, ${ERR}`),
  signer_free: define('signer_free', 'idgate_signer *'),
  did_document: define('did_document', `${TEXT}, ${TEXT}, _Out_ idgate_bytes *, ${ERR}`),
  jwks: define('jwks', `${TEXT}, ${TEXT}, _Out_ idgate_bytes *, ${ERR}`),
  webhook_headers: define(
    'webhook_headers',
    `${TEXT}, ${TEXT}, ${TEXT}, uint32_t, ${TEXT}, uint64_t, _Out_ idgate_bytes *, ${ERR}`,
  ),
  webhook_verify: define(
    'webhook_verify',
    `${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}, uint64_t, uint64_t, ${ERR}`,
  ),
  webhook_verify_standard: define(
    'webhook_verify_standard',
    `${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}, uint64_t, uint64_t, ${ERR}`,
  ),
};

/** Calls, and throws what the library says is wrong. */
function call(name, ...parameters) {
  const failed = [null];
  const status = lib[name](...parameters, failed);
  if (status !== 0) throw exception(status, failed[0]);
}

// koffi refuses more calls at once than it has room for; a busy server has them wait here.
const MAX_RUNNING = 32;
const waiting = [];
let running = 0;

/** The same on a worker thread. */
async function callAsync(name, ...parameters) {
  if (running >= MAX_RUNNING) await new Promise((resolve) => waiting.push(resolve));
  else running += 1;
  try {
    await onWorker(name, parameters);
  } finally {
    // The place goes to whoever waits longest.
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  }
}

function onWorker(name, parameters) {
  const failed = [null];
  return new Promise((resolve, reject) => {
    lib[name].async(...parameters, failed, (fault, status) => {
      // koffi keeps no hold of the bytes that the worker reads; until here this function does.
      parameters = null;
      if (fault) reject(fault);
      else if (status !== 0) reject(exception(status, failed[0]));
      else resolve();
    });
  });
}

/** Calls for a handle. */
function make(name, ...parameters) {
  const out = [null];
  call(name, ...parameters, out);
  return out[0];
}

/** Calls for a struct. */
function makeStruct(name, ...parameters) {
  const out = {};
  call(name, ...parameters, out);
  return out;
}

/** Calls for bytes. */
function makeBytes(name, ...parameters) {
  return take(makeStruct(name, ...parameters));
}

/** Calls for JSON. */
function makeJson(name, ...parameters) {
  return takeJson(makeStruct(name, ...parameters));
}

/** What `work` gives, or null when there is nothing. */
function orNull(work) {
  try {
    return work();
  } catch (problem) {
    if (problem instanceof IdgateError && problem.kind === 'nothing') return null;
    throw problem;
  }
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
    // At once to text, which ends at a 0 byte: no JSON has one.
    return JSON.parse(koffi.decode(given.ptr, 'char', Number(given.len)));
  } finally {
    freeBytes(given);
  }
}

/** Pointer and length of text or bytes. */
function data(value) {
  if (value === null || value === undefined) return [null, 0];
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  // A pointer to no bytes is not NULL: NULL says that there is no value at all.
  return bytes.byteLength === 0 ? [EMPTY, 0] : [bytes, bytes.byteLength];
}

const EMPTY = Buffer.alloc(1);

/** Pointer and length of handles. */
function handles(all) {
  return [all.length === 0 ? null : all.map(Handle.pointer), all.length];
}

/** JSON as it is, or made of a value. */
function asJson(value) {
  return typeof value === 'string' || ArrayBuffer.isView(value) ? value : JSON.stringify(value);
}

/** The time, or now, as the library counts. */
function millis(time) {
  return count(time === null || time === undefined ? Date.now() : time.getTime(), 'the time');
}

/** A number as C can take it, which koffi would cut to size. */
function count(value, name, most = Number.MAX_SAFE_INTEGER) {
  if (Number.isSafeInteger(value) && value >= 0 && value <= most) return value;
  throw new RangeError(`${name} is not a whole number from 0 to ${most}`);
}

function dateOrNull(ms) {
  return ms === null || ms === undefined ? null : new Date(ms);
}

function exception(status, handle) {
  const text = (part) => {
    const out = {};
    return part(handle, out) === 0 ? take(out).toString() : '';
  };
  const made = new IdgateError(
    KINDS[status] ?? 'internal',
    text(error.code),
    text(error.message),
    text(error.path),
    text(error.clause) || null,
  );
  error.free(handle);
  return made;
}

const forgotten = new FinalizationRegistry(({ free, pointer }) => lib[free](pointer));

/** Something in the library that is given back: by `using`, `await using`, `close()` or in the end. */
class Handle {
  #pointer;
  #free;

  constructor(free, pointer) {
    this.#free = free;
    this.#pointer = pointer;
    forgotten.register(this, { free, pointer }, this);
  }

  /** For the functions of this package. */
  static pointer(handle) {
    return handle.#pointer;
  }

  /** Gives it back now. What was made with it goes on working. */
  close() {
    if (this.#pointer === null) return;
    forgotten.unregister(this);
    lib[this.#free](this.#pointer);
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
  Handle,
  asJson,
  call,
  callAsync,
  count,
  data,
  dateOrNull,
  handles,
  koffi,
  make,
  makeBytes,
  makeJson,
  makeStruct,
  millis,
  orNull,
  pointer: Handle.pointer,
  take,
  takeJson,
};
