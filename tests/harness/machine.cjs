'use strict';
// The clocks of a program, set by its test while it runs: tests/it/preload/machine.c, which the build compiles.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const BUILD = path.join(__dirname, '..', '..', 'target', 'tested', 'build');
// The page that machine.c reads: nanoseconds that all clocks are ahead, when they were stopped, and nanoseconds from the
// zero of the monotonic clock to that of the real-time clock.
const [JUMPED, FROZEN, EPOCH, SIZE] = [0, 8, 48, 56];

/** The library that the newest build of tests/it made. */
function library() {
  const folders = fs.existsSync(BUILD) ? fs.readdirSync(BUILD).filter((name) => name.startsWith('idgate-it-')) : [];
  const built = folders.map((name) => path.join(BUILD, name, 'out', 'preload.so')).filter((file) => fs.existsSync(file));
  if (!built.length) throw new Error(`no preload.so below ${BUILD}: run tests/run.sh --only build`);
  const age = (file) => fs.statSync(file).mtimeMs;
  return built.reduce((one, other) => (age(other) > age(one) ? other : one));
}

class Machine {
  constructor() {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'idgate-machine-'));
    const file = path.join(this.folder, 'machine');
    fs.writeFileSync(file, Buffer.alloc(SIZE));
    this.file = fs.openSync(file, 'r+');
    this.#write(EPOCH, BigInt(Date.now()) * 1_000_000n - process.hrtime.bigint());
    /** The environment of the programs whose clocks these are. */
    this.environment = { TEST_MACHINE: file, LD_PRELOAD: library() };
  }

  /** Lets this time pass, from one moment to the next. */
  jump(ms) {
    this.#write(JUMPED, this.#read(JUMPED) + BigInt(ms) * 1_000_000n);
  }

  /** Stops the clocks: from now on time passes by jumps alone. */
  freeze() {
    this.#write(FROZEN, process.hrtime.bigint());
  }

  /** Lets the clocks run on from where they were stopped; for how many milliseconds they were. */
  thaw() {
    const stopped = process.hrtime.bigint() - this.#read(FROZEN);
    // Both together: between two writes the clocks would be set back.
    const bytes = Buffer.alloc(16);
    bytes.writeBigInt64LE(this.#read(JUMPED) - stopped);
    fs.writeSync(this.file, bytes, 0, 16, JUMPED);
    return Math.ceil(Number(stopped / 1_000_000n));
  }

  /** Stops the clocks while `work` is done. */
  async frozen(work) {
    this.freeze();
    try {
      return await work();
    } finally {
      this.thaw();
    }
  }

  remove() {
    fs.closeSync(this.file);
    fs.rmSync(this.folder, { recursive: true });
  }

  #read(at) {
    const bytes = Buffer.alloc(8);
    fs.readSync(this.file, bytes, 0, 8, at);
    return bytes.readBigInt64LE();
  }

  #write(at, value) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(value);
    fs.writeSync(this.file, bytes, 0, 8, at);
  }
}

module.exports = { Machine };
