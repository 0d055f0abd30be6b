'use strict';
// A field has two spellings: JavaScript's, and that of the JSON on the wire.

const { RequestInvalid } = require('./errors.js');
const json = require('./json.js');

const WIRE_NAME = /\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b/g;

const isObject = (value) =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);

/** The fields of an object, each with its name in JSON, and with the fields of its value where these are known. */
class Fields {
  #wire = new Map();
  #own = new Map();
  #isOpen;
  #needed;

  /**
   * `members`: by their names in JavaScript. In an open object, other members are sent as they are. `needed`: members
   * that undefined does not leave out; in an open object all are needed.
   */
  constructor(members, { isOpen = false, needed = [] } = {}) {
    this.#isOpen = isOpen;
    this.#needed = needed;
    for (const [own, given] of Object.entries(members)) {
      const [wire, inner] = [given].flat();
      this.#wire.set(own, { name: wire, inner });
      this.#own.set(wire, { name: own, inner });
    }
  }

  /** The name in JSON and the fields of the value, by the names in JavaScript. */
  entries() {
    return [...this.#wire].map(([own, { name, inner }]) => [own, name, inner]);
  }

  /**
   * `value` in the spelling of JSON. Throws a TypeError for a value that JSON does not have. The library refuses a
   * value that is not an object.
   */
  toWire(value, path = '') {
    if (!isObject(value)) return json.plain(value, path);
    const made = Object.create(null);
    for (const [name, member] of json.members(value, path)) {
      const at = json.below(path, name);
      const field = this.#wire.get(name);
      const isOther = !field && this.#isOpen && !this.#own.has(name);
      if (!field && !isOther) throw this.#unknown(name, at);
      if (member === undefined && !this.#isOpen && !this.#needed.includes(name)) continue;
      made[field?.name ?? name] = field?.inner ? field.inner.toWire(member, at) : json.plain(member, at);
    }
    return made;
  }

  /** A received value in JavaScript's spelling. */
  fromWire(value) {
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([wire, member]) => {
        const field = this.#own.get(wire);
        return [field?.name ?? wire, field?.inner ? field.inner.fromWire(member) : member];
      }),
    );
  }

  /** The path to a field in JavaScript's spelling: `credentials[0].issuerId`. Keys of maps stay as they are. */
  path(wire) {
    const [name] = /^\w*/.exec(wire);
    const field = this.#own.get(name);
    if (!field) return wire;
    const [, indexes, rest] = /^((?:\[\d+\])*\.?)(.*)$/s.exec(wire.slice(name.length));
    return field.name + indexes + (field.inner ? field.inner.path(rest) : rest);
  }

  /** A sentence that names fields, which are looked up one by one. */
  text(wire) {
    const names = this.names();
    return wire.replace(WIRE_NAME, (name) => names.get(name) ?? name);
  }

  /** The names in JavaScript by the names in JSON, including nested fields. */
  names(found = new Map()) {
    for (const [wire, { name, inner }] of this.#own) {
      found.set(wire, name);
      inner?.names(found);
    }
    return found;
  }

  #unknown(name, path) {
    const own = this.#own.get(name)?.name;
    const rule = `is not a field of this request; ${own ? `write ${own}` : 'remove it'}`;
    return new RequestInvalid({ code: 'unknown_field', path, rule });
  }
}

/** An array of objects with those fields. */
function each(fields) {
  return {
    entries: () => fields.entries(),
    toWire: (value, path) =>
      Array.isArray(value)
        ? Array.from(value, (one, index) => fields.toWire(one, `${path}[${index}]`))
        : json.plain(value, path),
    fromWire: (value) => (Array.isArray(value) ? value.map((one) => fields.fromWire(one)) : value),
    path: (wire) => fields.path(wire),
    names: (found) => fields.names(found),
  };
}

module.exports = { Fields, each };
