'use strict';
// A handler of `Request` and `Response` behind Express, or in a server of node:http.

/** Methods that a `Request` cannot have. In their place goes one that no path has either. */
const WITHOUT_REQUEST = ['CONNECT', 'TRACE', 'TRACK'];
const NO_METHOD = 'UNKNOWN';

/**
 * `handler` as `(request, response, next)`. With `next`, as Express gives it, paths that are not its own go on, with
 * their body as it is. Use it before anything that reads bodies.
 */
function toNodeHandler(handler) {
  if (typeof handler !== 'function') throw new TypeError('toNodeHandler: the handler is not a function');
  return async (request, response, next) => {
    try {
      const url = urlOf(request);
      if (next && handler.serves && !handler.serves(url.pathname)) return next();
      await send(await handler(fromNode(request, url)), response);
    } catch (problem) {
      if (next) return next(problem);
      console.error(problem);
      if (!response.headersSent) response.statusCode = 500;
      response.end();
    }
  };
}

function urlOf(request) {
  // Express cuts the place where a handler is mounted from `url`. The host is of no use, and not to be believed.
  const path = request.originalUrl ?? request.url;
  return new URL(`http://localhost${path.startsWith('/') ? path : '/'}`);
}

function fromNode(request, url) {
  const headers = new Headers();
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    // Those of HTTP/2 that begin with a colon are not headers here.
    if (!request.rawHeaders[at].startsWith(':')) headers.append(request.rawHeaders[at], request.rawHeaders[at + 1]);
  }
  if (WITHOUT_REQUEST.includes(request.method)) return new Request(url, { method: NO_METHOD, headers });
  const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
  return new Request(url, {
    method: request.method,
    headers,
    ...(hasBody && { body: bodyOf(request), duplex: 'half' }),
  });
}

function bodyOf(request) {
  if (request.readableDidRead ?? request.readableEnded) return readBefore(request);
  let parts;
  return new ReadableStream(
    {
      async pull(controller) {
        parts ??= request.iterator({ destroyOnReturn: false });
        const { done, value } = await parts.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      // A client may read the answer only after it sent the rest. node:http reads the rest of a body in the same way.
      async cancel() {
        await parts?.return();
        request.resume();
      },
    },
    { highWaterMark: 0 },
  );
}

/** The body that a parser left, where it is still as it came. */
function readBefore({ body }) {
  if (typeof body === 'string' || ArrayBuffer.isView(body)) return body;
  throw new Error(
    'the body was read before, and request.body is not its bytes or text: put toNodeHandler before the parsers of bodies',
  );
}

async function send(answer, response) {
  response.statusCode = answer.status;
  for (const [name, value] of answer.headers) response.setHeader(name, value);
  response.end(Buffer.from(await answer.arrayBuffer()));
}

module.exports = { toNodeHandler };
