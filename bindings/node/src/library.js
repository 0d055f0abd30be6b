'use strict';
// Where the native library lies: in `native`, or in the package for this system that npm installs beside this one.

const fs = require('node:fs');
const path = require('node:path');

const NAMES = {
  linux: 'libidgate_ffi.so',
  darwin: 'libidgate_ffi.dylib',
  win32: 'idgate_ffi.dll',
};
const PUBLISHED = { linux: ['x64', 'arm64'] };
const NATIVE = path.join(__dirname, '..', 'native');

/** What the library is called on this system; undefined where idgate cannot be. */
const fileName = NAMES[process.platform];

/** The packages with a library for this system that are installed, as paths. */
function installed() {
  if (!PUBLISHED[process.platform]?.includes(process.arch)) return [];
  // An older npm knows nothing of libc, and installs both: only the right one can be loaded.
  return ['gnu', 'musl'].flatMap((libc) => {
    try {
      return [require.resolve(`@idgate/${process.platform}-${process.arch}-${libc}`)];
    } catch {
      return [];
    }
  });
}

/** All that there are, the one to try first first: who put one into `native` wants that. */
function candidates() {
  const own = path.join(NATIVE, fileName ?? '');
  return fileName && fs.existsSync(own) ? [own] : installed();
}

/** What to do where there is none. */
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

/** The library, by the first candidate that this process can load. */
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
