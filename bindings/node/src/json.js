'use strict';
// Values that JSON has. JSON.stringify drops or changes all others, and could drop a condition with them.

const MOST_NESTED = 128;

/** A plain object of any realm. Another prototype may have members that JSON.stringify leaves out. */
function isRecord(value) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  if (prototype === null) return true;
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf');
}

/** The members of the plain object at `path`, each by its name. */
function members(value, path) {
  if (!isRecord(value)) throw not(path, kindOf(value));
  return Reflect.ownKeys(value).map((name) => {
    if (typeof name === 'symbol' || !Object.prototype.propertyIsEnumerable.call(value, name)) {
      throw new TypeError(`${subject(path)} has a member that JSON cannot represent`);
    }
    wellFormed(name, `a name in ${subject(path)}`);
    return [name, value[name]];
  });
}

/** A copy of the value at `path`, so that it is read once. Throws a TypeError that names what JSON does not have. */
function plain(value, path, nested = 0) {
  if (typeof value === 'string') return wellFormed(value, subject(path));
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (nested === MOST_NESTED) throw new TypeError(`${subject(path)} is nested more than ${MOST_NESTED} times`);
  if (Array.isArray(value)) {
    // Array.from reads a missing element as undefined; map would skip it.
    const copy = Array.from(value, (one, at) => plain(one, `${path}[${at}]`, nested + 1));
    if (Object.keys(value).length !== copy.length) {
      throw new TypeError(`${subject(path)} is an array with members other than elements, which JSON cannot represent`);
    }
    return copy;
  }
  const copy = Object.create(null);
  for (const [name, member] of members(value, path)) copy[name] = plain(member, below(path, name), nested + 1);
  return copy;
}

/** The JSON of the value that is named `path`. */
const write = (value, path) => JSON.stringify(plain(value, path));

/** The path to a member. */
function below(path, name) {
  if (!/^\w+$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}

const subject = (path) => (path === '' ? 'the request' : path);

/** A lone surrogate is not text, and the library could not say where it is. */
function wellFormed(text, what) {
  if (!text.isWellFormed()) throw new TypeError(`${what} has a lone surrogate, which is half of a character`);
  return text;
}

function kindOf(value) {
  if (typeof value === 'number') return 'infinite or NaN';
  if (typeof value !== 'object') return value === undefined ? 'undefined' : `a ${typeof value}`;
  const kind = Object.prototype.toString.call(value).slice('[object '.length, -1);
  return kind === 'Object' ? 'an object of a class' : `of the class ${kind}`;
}

const not = (path, kind) => new TypeError(`${subject(path)} is ${kind}, which JSON cannot represent`);

module.exports = { below, isRecord, members, plain, write };
