'use strict';
// Puts the native library beside the package: the one that IDGATE_LIBRARY names, one that is there
// already, or one built from this clone with cargo.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const NAMES = {
  linux: 'libidgate_ffi.so',
  darwin: 'libidgate_ffi.dylib',
  win32: 'idgate_ffi.dll',
};

const run = (command, args, cwd) =>
  execFileSync(command, args, {
    cwd,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  });

function built(name) {
  const root = path.join(__dirname, '..', '..');
  if (!fs.existsSync(path.join(root, 'idgate-ffi', 'Cargo.toml'))) return null;
  run('cargo', ['build', '--release', '--locked', '-p', 'idgate-ffi'], root);
  // Wherever a variable or a configuration file of cargo puts it.
  const metadata = execFileSync(
    'cargo',
    ['metadata', '--format-version', '1', '--no-deps', '--locked'],
    { cwd: root, maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  return path.join(JSON.parse(metadata).target_directory, 'release', name);
}

function main() {
  const name = NAMES[process.platform];
  if (!name) throw new Error(`idgate: no native library for ${process.platform}`);
  const folder = path.join(__dirname, 'native');
  const given = process.env.IDGATE_LIBRARY;
  // npm runs this in the folder of the package, and says where it was called.
  const library = given ? path.resolve(process.env.INIT_CWD ?? '', given) : built(name);
  if (library) {
    fs.mkdirSync(folder, { recursive: true });
    fs.copyFileSync(library, path.join(folder, `${name}.new`));
    fs.renameSync(path.join(folder, `${name}.new`), path.join(folder, name));
  } else if (!fs.existsSync(path.join(folder, name))) {
    throw new Error(`idgate: set IDGATE_LIBRARY to ${name}, or install from a clone`);
  }
  // npm links a folder without installing what it depends on.
  try {
    require.resolve('koffi');
  } catch {
    run('npm', ['install', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], __dirname);
  }
}

try {
  main();
} catch (error) {
  const cargo = error.code === 'ENOENT' && error.path === 'cargo';
  console.error(cargo ? 'idgate: install Rust (cargo), or set IDGATE_LIBRARY' : error.message);
  process.exitCode = 1;
}
