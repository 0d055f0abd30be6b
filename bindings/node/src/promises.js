'use strict';

/** A promise that is not waited for and is refused as a value: its own failure must not end the process. */
function unawaited(value) {
  if (typeof value?.then === 'function') Promise.resolve(value).catch(() => {});
}

module.exports = { unawaited };
