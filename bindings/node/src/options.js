'use strict';
// Options objects: their names, and the types of their values.

const { types } = require('node:util');

/**
 * The options `given` to `what`. An option that is not in `known` is refused, because a typing mistake could widen
 * trust. `known` has the type of each option (`is`) by name; null and undefined count as omitted. `wrong` makes the
 * error for a text that is not one of the choices.
 */
function options(what, known, given, wrong = (name, why) => new TypeError(`${what}: ${name} ${why}`)) {
  if (given === undefined || given === null) return {};
  if (typeof given !== 'object' || Array.isArray(given)) {
    throw new TypeError(`${what}: the options are not an object`);
  }
  const taken = {};
  for (const name in given) {
    const type = Object.hasOwn(known, name) ? known[name] : undefined;
    if (!type) {
      throw new TypeError(`${what}: there is no option "${name}"; there are ${Object.keys(known).join(', ')}`);
    }
    const value = given[name];
    if (value === undefined || value === null) continue;
    if (!type.fits(value)) throw new TypeError(`${what}: ${name} is not ${type.name}`);
    const allowed = type.allowed;
    if (allowed && ![value].flat().every((one) => allowed.includes(one))) {
      throw wrong(name, `is not one of ${allowed.join(', ')}`);
    }
    taken[name] = value;
  }
  return taken;
}

const isText = (value) => typeof value === 'string';
const isBytes = (value) => ArrayBuffer.isView(value);
const isPlain = (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && !isBytes(value);

/** Types of values. */
const is = {
  text: { name: 'text', fits: isText },
  flag: { name: 'true or false', fits: (value) => typeof value === 'boolean' },
  number: { name: 'a number', fits: (value) => typeof value === 'number' },
  date: { name: 'a Date', fits: types.isDate },
  data: { name: 'text or bytes', fits: (value) => isText(value) || isBytes(value) },
  // A spread reads a missing element as undefined; every would skip it.
  texts: { name: 'an array of texts', fits: (value) => Array.isArray(value) && [...value].every(isText) },
  object: { name: 'an object', fits: isPlain },
  function: { name: 'a function', fits: (value) => typeof value === 'function' },
  /** One of the given texts. */
  oneOf: (...allowed) => ({ name: 'text', fits: isText, allowed }),
  /** An array of them. */
  someOf: (...allowed) => ({ ...is.texts, allowed }),
  /** One of them, or an array. */
  some: (type) => ({
    name: `${type.name}, or an array of it`,
    fits: (value) => (Array.isArray(value) ? value.every(type.fits) : type.fits(value)),
  }),
};

const NOW = { now: is.date };

/** A parameter that is text. */
function text(value, what) {
  if (!isText(value)) throw new TypeError(`${what} is not text`);
  return value;
}

/** A parameter that is text or bytes. */
function data(value, what) {
  if (!is.data.fits(value)) throw new TypeError(`${what} is not text or bytes`);
  return value;
}

/** A copy of bytes for a worker thread, which other code cannot change. */
function copied(value) {
  return typeof value === 'string' ? value : Buffer.from(value);
}

module.exports = { NOW, copied, data, is, isPlain, options, text };
