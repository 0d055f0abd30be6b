'use strict';

/**
 * The options `given` to `what`, when all of them are among `known`: one that nobody reads may be a
 * typing mistake that widens what is trusted.
 */
function options(what, known, given) {
  if (given === undefined || given === null) return {};
  if (typeof given !== 'object' || Array.isArray(given)) {
    throw new TypeError(`${what}: the options must be an object`);
  }
  for (const name in given) {
    if (!known.includes(name)) {
      throw new TypeError(`${what}: there is no option "${name}"; there are ${known.join(', ')}`);
    }
  }
  return given;
}

module.exports = { options };
