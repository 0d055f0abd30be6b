'use strict';
// Installs the native library next to the package: the one that IDGATE_LIBRARY names, or one built from this clone
// with cargo. Without either, a library has to be there already, or in the package for this system.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { NATIVE, advice, candidates, fileName } = require('./src/library.js');

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
  // The path may come from a variable or a configuration file of cargo.
  const metadata = execFileSync(
    'cargo',
    ['metadata', '--format-version', '1', '--no-deps', '--locked'],
    { cwd: root, maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  return path.join(JSON.parse(metadata).target_directory, 'release', name);
}

function main() {
  if (!fileName) throw new Error(advice());
  const given = process.env.IDGATE_LIBRARY;
  // npm runs this in the folder of the package, and INIT_CWD says where npm was called.
  const library = given ? path.resolve(process.env.INIT_CWD ?? '', given) : built(fileName);
  if (library) {
    fs.mkdirSync(NATIVE, { recursive: true });
    fs.copyFileSync(library, path.join(NATIVE, `${fileName}.new`));
    fs.renameSync(path.join(NATIVE, `${fileName}.new`), path.join(NATIVE, fileName));
  } else if (candidates().length === 0) {
    throw new Error(advice());
  }
  // npm links a folder without installing its dependencies.
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
