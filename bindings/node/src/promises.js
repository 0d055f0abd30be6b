'use strict';

/** Marks a promise as handled: it is refused as a value and not awaited, so its rejection must not end the process. */
function unawaited(value) {
  if (typeof value?.then === 'function') Promise.resolve(value).catch(() => {});
}

module.exports = { unawaited };
