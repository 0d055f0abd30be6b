// A camera as a separate process: reads a picture (PNG) from standard input and prints the content of its code.

import jsqr from 'jsqr'
import { PNG } from 'pngjs'

const chunks = []
for await (const chunk of process.stdin) chunks.push(chunk)
const { data, width, height } = PNG.sync.read(Buffer.concat(chunks))
const found = jsqr(new Uint8ClampedArray(data), width, height)
if (!found) {
  console.error('the code cannot be read')
  process.exit(1)
}
process.stdout.write(found.data)
