// A shop that sells to adults. The page talks only to this backend; the API key, the session and the claims
// stay here. This file has the routes, gateway.js the requests to idgate, and orders.js the orders.

import { createServer } from 'node:http'
import { readFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import qrcode from 'qrcode-generator'
import { Gateway } from './gateway.js'
import { Orders } from './orders.js'
import { verify } from '../webhooks/verify.mjs'

const PAGES = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/shop.js': ['shop.js', 'text/javascript; charset=utf-8'],
  '/shop.css': ['shop.css', 'text/css; charset=utf-8'],
  '/idgate.js': ['../../../bindings/browser/idgate.js', 'text/javascript; charset=utf-8'],
}
// Nothing from other sites runs or is loaded. The QR code is an image in a data: URL.
const POLICY = "default-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'"
const MAX_WEBHOOK = 64 * 1024
const MAX_ANSWER = 1024 * 1024

/** Starts the shop. README.md lists the `settings`. Returns the server when it listens. */
export async function startShop(settings) {
  const gateway = new Gateway(settings.gatewayUrl, settings.apiKey)
  const orders = new Orders(gateway, settings)
  const server = createServer((request, response) => {
    answer(request, response, { orders, settings }).catch((error) => {
      console.error(`${request.method} ${request.url.split('?')[0]}: ${error.message}`)
      if (!response.headersSent) send(response, 500, { error: 'the shop failed' })
      else response.destroy()
    })
  })
  await new Promise((resolve) => server.listen(settings.port, '127.0.0.1', resolve))
  settings.url ??= `http://127.0.0.1:${server.address().port}`
  return server
}

async function answer(request, response, shop) {
  const { pathname, searchParams } = new URL(request.url, 'http://shop')
  const [, first, id, rest] = pathname.split('/')
  const route = `${request.method} ${first === 'orders' && id ? `/orders/{id}${rest ? `/${rest}` : ''}` : pathname}`
  switch (route) {
    case 'GET /':
    case 'GET /shop.js':
    case 'GET /shop.css':
    case 'GET /idgate.js':
      return page(response, ...PAGES[pathname])
    case 'POST /orders':
      return begin(request, response, shop)
    case 'GET /orders/{id}':
      return withOrder(request, response, shop, id, (order) => send(response, 200, shop.orders.view(order)))
    case 'GET /orders/{id}/events':
      return withOrder(request, response, shop, id, (order) => follow(request, response, shop, order))
    case 'POST /orders/{id}/dc-api':
      return withOrder(request, response, shop, id, (order) => relay(request, response, shop, order))
    case 'GET /back':
      return comeBack(request, response, shop, searchParams)
    case 'POST /webhooks':
      return takeWebhook(request, response, shop)
    default:
      return send(response, 404, { error: 'there is nothing here' })
  }
}

/** A new order. Only a page of this shop can begin one: browsers send the origin of a request. */
async function begin(request, response, { orders, settings }) {
  if (request.headers.origin !== settings.url) return send(response, 403, { error: 'not from this shop' })
  const onThisDevice = request.headers['x-device'] === 'this'
  const order = await orders.begin(onThisDevice)
  // The order belongs to this browser. __Host- would also require https.
  response.setHeader('Set-Cookie', `order=${order.secret}; HttpOnly; SameSite=Lax; Path=/`)
  const code = onThisDevice || order.page ? undefined : qrImage(order.qrCodeUrl)
  const { id, link, page: pageUrl, dcApi } = order
  return send(response, 201, { id, link, qr: code, page_url: pageUrl, dc_api: dcApi })
}

/** The changes of an order's status, as server-sent events: their ids are the gateway's `seq`. */
function follow(request, response, { orders }, order) {
  const after = Number.parseInt(request.headers['last-event-id'] ?? '0', 10) || 0
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
  const stop = orders.follow(order, after, {
    onStatus: ({ seq, status }) => response.write(`id: ${seq}\ndata: ${JSON.stringify({ status })}\n\n`),
    // The page now asks for the outcome. Without this it would reconnect.
    onEnd: () => response.end('event: end\ndata: {}\n\n'),
  })
  request.on('close', stop)
}

/** The credential from the page's browser. The reply is empty: the page asks for the outcome. */
async function relay(request, response, { orders, settings }, order) {
  if (request.headers.origin !== settings.url) return send(response, 403, { error: 'not from this shop' })
  const answer = await readBody(request, MAX_ANSWER)
  if (!answer) return send(response, 413, { error: 'the answer is too large' })
  await orders.relay(order, answer)
  return send(response, 200, {})
}

/**
 * The address to which the wallet sends the person afterwards, with the `response_code` of this answer, or to which
 * the gateway's page does, with its `page_code`.
 */
async function comeBack(request, response, { orders }, parameters) {
  const order = orders.ofBrowser(cookie(request))
  const codes = [parameters.get('response_code'), parameters.get('page_code')]
  const good = order && ((await orders.redeem(order, codes)) || !codes.some(Boolean))
  response.writeHead(303, { Location: good ? `/#${order.id}` : '/#refused', 'Cache-Control': 'no-store' })
  response.end()
}

/** The webhook that a session is settled. It also arrives if no page is open any more. */
async function takeWebhook(request, response, { orders, settings }) {
  const body = await readBody(request, MAX_WEBHOOK)
  const { 'x-timestamp': timestamp, 'x-signature': signature } = request.headers
  const secret = settings.webhookSecret
  if (!body || !secret || !verify(secret, body, timestamp, signature)) {
    return send(response, 401, { error: 'the signature is not good' })
  }
  // The same notification may come twice. Settling an order again changes nothing.
  await orders.settle(JSON.parse(body).sessionId)
  return send(response, 200, { status: 'ok' })
}

/** Calls `then` with the order, if it is this browser's. */
function withOrder(request, response, { orders }, id, then) {
  const order = orders.ofBrowser(cookie(request))
  return order?.id === id ? then(order) : send(response, 404, { error: 'there is no such order' })
}

async function page(response, file, type) {
  const content = await readFile(new URL(`public/${file}`, import.meta.url))
  response.writeHead(200, {
    'Content-Type': type,
    'Content-Security-Policy': POLICY,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-store',
  })
  response.end(content)
}

function send(response, status, body) {
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  })
  response.end(JSON.stringify(body))
}

/** The raw bytes, which the signature covers; undefined if there are too many. */
async function readBody(request, limit) {
  const chunks = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    if (length > limit) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function cookie(request) {
  return /(?:^|; )order=([\w-]+)/.exec(request.headers.cookie ?? '')?.[1]
}

/** A QR code as a data: URL; undefined if the request is too long for one. */
function qrImage(text) {
  try {
    const code = qrcode(0, 'L')
    code.addData(text)
    code.make()
    return `data:image/svg+xml;base64,${Buffer.from(code.createSvgTag(4, 16)).toString('base64')}`
  } catch {
    return undefined
  }
}

function settingsFrom(environment) {
  const required = (name) => {
    if (environment[name]) return environment[name]
    console.error(`${name} is not set; see README.md`)
    process.exit(2)
  }
  return {
    gatewayUrl: environment.IDGATE_URL ?? 'http://127.0.0.1:8080',
    apiKey: required('IDGATE_API_KEY'),
    issuerId: required('ISSUER_ID'),
    webhookSecret: environment.WEBHOOK_SECRET,
    url: environment.SHOP_URL,
    format: environment.FORMAT,
    asksBrowsers: environment.ASK_BROWSERS === 'true',
    usesPage: environment.USE_PAGE === 'true',
    port: Number(environment.PORT ?? 3000),
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const settings = settingsFrom(process.env)
  await startShop(settings)
  console.log(`the shop is open: ${settings.url}`)
}
