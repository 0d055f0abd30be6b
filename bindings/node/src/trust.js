'use strict';

const abi = require('./abi.js');
const { Misconfigured, NotAvailable, Refused } = require('./errors.js');
const expectation = require('./expectation.js');
const { HINTS } = require('./failure.js');
const { FETCH, Source } = require('./fetcher.js');
const issuer = require('./issuer.js');
const { NOW, copied, data, is, options } = require('./options.js');
const { FACTS } = require('./result.js');
const { dateOrNull } = require('./session.js');

const VERIFIED = { fetch: FETCH, checks: is.flag, ...NOW };
const NEED = 1;
const TEST_ONLY = 1;
const ALLOW_STALE = 2;

/** The issuers that you trust, read and checked. It never changes; make a new one to change trust. */
class Trust extends abi.Handle {
  constructor(issuers) {
    if (!Array.isArray(issuers)) throw new TypeError('Trust: the issuers are not an array');
    const read = issuers.map(issuer.read);
    super('trust', abi.run('trust_new', [], abi.HANDLE));
    try {
      /** The reports on the lists of its issuers. */
      this.lists = Object.freeze(collected(Trust.pointer(this), read));
    } catch (problem) {
      this.close();
      throw problem;
    }
    Object.freeze(this);
  }

  /** For this package. */
  static pointer(trust, what = 'the trust') {
    return abi.pointer(trust, Trust, what);
  }

  /**
   * Verifies one presentation of a `vp_token` on worker threads, and fetches the status list or CRL that the credential
   * names. Throws `Refused`.
   */
  async verify(presentation, expected, given) {
    return this.#verify('verify', presentation, expected, given);
  }

  /** The same on this thread. */
  verifySync(presentation, expected, given) {
    return this.#verifySync('verifySync', presentation, expected, given);
  }

  /** The same as `verify`, but returns a refusal as a value. */
  async check(presentation, expected, given) {
    try {
      return { ok: true, ...(await this.#verify('check', presentation, expected, given)) };
    } catch (problem) {
      return refusal(problem);
    }
  }

  /** The same on this thread. */
  checkSync(presentation, expected, given) {
    try {
      return { ok: true, ...this.#verifySync('checkSync', presentation, expected, given) };
    } catch (problem) {
      return refusal(problem);
    }
  }

  async #verify(what, ...parameters) {
    const { inputs, source, now } = this.#inputs(what, ...parameters);
    if (!source.isOn) return verified(await abi.runAsync('presentation_verify', inputs, abi.JSON_TEXT));
    const pointer = await abi.runAsync('presentation_begin', inputs, abi.HANDLE);
    let wasNotAsked = false;
    try {
      for (;;) {
        const step = await abi.runAsync('verification_step', [pointer], abi.STEP).catch(explained(wasNotAsked));
        if (step.kind !== NEED) return verified(step.told);
        if (await source.recall(pointer, now)) continue;
        wasNotAsked = await source.fetch(pointer, step.told.needs, now).then(() => false, givenUp(pointer, step, now));
      }
    } finally {
      abi.free('verification', pointer);
    }
  }

  #verifySync(what, ...parameters) {
    const { inputs, source, now } = this.#inputs(what, ...parameters);
    if (!source.isOn) return verified(abi.run('presentation_verify', inputs, abi.JSON_TEXT));
    const pointer = abi.run('presentation_begin', inputs, abi.HANDLE);
    let wasNotAsked = false;
    try {
      for (;;) {
        const step = abi.run('verification_step', [pointer], abi.STEP);
        if (step.kind !== NEED) return verified(step.told);
        if (source.recallSync(pointer, now)) continue;
        try {
          source.fetchSync(pointer, step.told.needs, now);
        } catch (problem) {
          wasNotAsked = givenUp(pointer, step, now)(problem);
        }
      }
    } catch (problem) {
      return explained(wasNotAsked)(problem);
    } finally {
      abi.free('verification', pointer);
    }
  }

  #inputs(what, presentation, expected, given) {
    const { fetch, checks = false, now } = options(what, VERIFIED, given);
    const inputs = [
      Trust.pointer(this),
      abi.str(copied(data(presentation, `${what}: the presentation`))),
      expectation.read(what, expected, checks),
      abi.millis(now),
    ];
    return { inputs, source: new Source(fetch), now };
  }
}

/** Adds the issuers to a collection. Returns the reports on their lists. */
function collected(pointer, issuers) {
  const names = new Set();
  return issuers.flatMap(({ id, json, material, testOnly }) => {
    if (names.has(id)) {
      throw new Misconfigured({ issuer: id, field: 'id', why: 'is given twice; put the material of both into one' });
    }
    names.add(id);
    named(id, null, () => abi.run('trust_add_issuer', [pointer, abi.str(json)]));
    return material.flatMap((one) => {
      const report = named(id, one.field, () => added(pointer, id, one, testOnly));
      return one.isList ? [listReport(id, one.name, report)] : [];
    });
  });
}

/** Runs `work`. An error names the issuer and its field in JavaScript's spelling. */
function named(id, field, work) {
  try {
    return work();
  } catch (problem) {
    if (!(problem instanceof Misconfigured)) throw problem;
    const own = field ?? (problem.field && issuer.SPELLING.path(problem.field));
    throw new Misconfigured({ issuer: id, field: own, why: issuer.SPELLING.text(problem.why), hint: problem.hint });
  }
}

function added(pointer, id, { kind, file, isList, signedBelow, allowStale, now }, testOnly) {
  const add = (place) => {
    const choices = abi.sized('material_options', {
      flags: (testOnly ? TEST_ONLY : 0) | (allowStale ? ALLOW_STALE : 0),
      now_ms: abi.millis(now),
      signer_ca: abi.str(signedBelow),
      report_out: place,
    });
    abi.run('trust_add_material', [pointer, abi.str(id), kind, abi.str(file), choices]);
  };
  return isList ? abi.withReport(add) : add(null);
}

function listReport(issuerId, field, told) {
  const certificates = (told.certificates ?? told).map(({ skipped_because: skippedBecause, ...rest }) => {
    return { ...rest, skippedBecause };
  });
  if (Array.isArray(told)) return Object.freeze({ issuerId, field, certificates });
  return Object.freeze({
    issuerId,
    field,
    certificates,
    listType: told.list_type,
    sequence: told.sequence,
    issuedAt: new Date(told.issued_at_ms),
    nextUpdate: new Date(told.next_update_ms),
    organization: told.organization,
    providers: told.providers,
  });
}

/** If this machine could not ask a source, the status is unknown, and the next step says so. */
function givenUp(pointer, step, now) {
  return (problem) => {
    if (!(problem instanceof NotAvailable)) throw problem;
    Source.supply(
      pointer,
      step.told.needs.map(() => null),
      now,
    );
    return true;
  };
}

/** Throws the error of a step, with a hint if this machine could not ask a source. */
function explained(wasNotAsked) {
  return (problem) => {
    if (!wasNotAsked || !(problem instanceof Refused)) throw problem;
    const { reason, check, clause, message } = problem;
    throw new Refused({ reason, check, clause, hint: HINTS.try_again, message: `${message}; ${HINTS.try_again}` });
  };
}

function verified({ claims, checks, valid_from_ms: validFrom, valid_until_ms: validUntil, ...facts }) {
  const dates = { validFrom: dateOrNull(validFrom), validUntil: dateOrNull(validUntil) };
  return { claims, facts: { ...FACTS.fromWire(facts), ...dates }, ...(checks && { checks }) };
}

function refusal(problem) {
  if (problem instanceof Refused) return { ok: false, refused: problem };
  throw problem;
}

module.exports = { Trust };
