'use strict';
// Finds the native library: in `native`, or in the package for this system that npm installs next to this one.

const fs = require('node:fs');
const path = require('node:path');

const NAMES = {
  linux: 'libidgate_ffi.so',
  darwin: 'libidgate_ffi.dylib',
  win32: 'idgate_ffi.dll',
};
const PUBLISHED = { linux: ['x64', 'arm64'] };
const NATIVE = path.join(__dirname, '..', 'native');

/** The file name of the library on this system; undefined if idgate does not support it. */
const fileName = NAMES[process.platform];

/** The paths of the installed packages with a library for this system. */
function installed() {
  if (!PUBLISHED[process.platform]?.includes(process.arch)) return [];
  // An older npm ignores libc and installs both packages. Only the right one can be loaded.
  return ['gnu', 'musl'].flatMap((libc) => {
    try {
      return [require.resolve(`@idgate/${process.platform}-${process.arch}-${libc}`)];
    } catch {
      return [];
    }
  });
}

/** All candidates, in order. A library in `native` comes first, because it was put there on purpose. */
function candidates() {
  const own = path.join(NATIVE, fileName ?? '');
  return fileName && fs.existsSync(own) ? [own] : installed();
}

/** What to do if there is none. */
function advice() {
  const system = `${process.platform} on ${process.arch}`;
  if (!fileName) return `idgate: there is no native library for ${system}`;
  if (PUBLISHED[process.platform]?.includes(process.arch)) {
    const packages = ['gnu', 'musl'].map((libc) => `@idgate/${process.platform}-${process.arch}-${libc}`);
    return (
      `idgate: the native library is missing. Install without --omit=optional, so that ${packages.join(' or ')} ` +
      `is installed, or set IDGATE_LIBRARY to ${fileName} while you install`
    );
  }
  return (
    `idgate: no native library is published for ${system}. Build it in a clone with Rust ` +
    `(cargo build --release --locked -p idgate-ffi), and set IDGATE_LIBRARY to target/release/${fileName} ` +
    'while you install'
  );
}

/** The library, from the first candidate that this process can load. */
function load(koffi) {
  const faults = [];
  for (const file of candidates()) {
    try {
      return koffi.load(file);
    } catch (fault) {
      faults.push(fault.message);
    }
  }
  throw new Error([faults.length === 0 ? advice() : 'idgate: the native library cannot be loaded', ...faults].join('\n'));
}

module.exports = { NATIVE, advice, candidates, fileName, installed, load };
