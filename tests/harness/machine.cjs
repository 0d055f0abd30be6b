'use strict';
// Controls the clocks of a running program, by tests/it/preload/machine.c, which the build compiles.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const BUILD = path.join(__dirname, '..', '..', 'target', 'tested', 'build');
// The memory page that machine.c reads, in nanoseconds: how far all clocks are ahead, when they were stopped, and the distance
// from the zero of the monotonic clock to that of the real-time clock.
const [JUMPED, FROZEN, EPOCH, SIZE] = [0, 8, 48, 56];

/** The library from the newest build of tests/it. */
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
    /** The environment for programs that use these clocks. */
    this.environment = { TEST_MACHINE: file, LD_PRELOAD: library() };
  }

  /** Moves the clocks forward by this time. */
  jump(ms) {
    this.#write(JUMPED, this.#read(JUMPED) + BigInt(ms) * 1_000_000n);
  }

  /** Stops the clocks: from now on time passes only by jumps. */
  freeze() {
    this.#write(FROZEN, process.hrtime.bigint());
  }

  /** Restarts the clocks from where they stopped. Returns for how many milliseconds they were stopped. */
  thaw() {
    const stopped = process.hrtime.bigint() - this.#read(FROZEN);
    // One write for both values: between two writes the clocks would go back.
    const bytes = Buffer.alloc(16);
    bytes.writeBigInt64LE(this.#read(JUMPED) - stopped);
    fs.writeSync(this.file, bytes, 0, 16, JUMPED);
    return Math.ceil(Number(stopped / 1_000_000n));
  }

  /** Stops the clocks while `work` runs. */
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
