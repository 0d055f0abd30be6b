'use strict';
// Adapts a handler of `Request` and `Response` to Express and node:http.

/** Methods that a `Request` cannot have. They are replaced by a method that no path supports. */
const WITHOUT_REQUEST = ['CONNECT', 'TRACE', 'TRACK'];
const NO_METHOD = 'UNKNOWN';

/**
 * `handler` as `(request, response, next)`. With Express's `next`, other paths go to the next handler with an unread
 * body. Use it before anything that reads bodies.
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
  // Express removes the mount path of a handler from `url`. The host is neither needed nor trusted.
  const path = request.originalUrl ?? request.url;
  return new URL(`http://localhost${path.startsWith('/') ? path : '/'}`);
}

function fromNode(request, url) {
  const headers = new Headers();
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    // Pseudo-headers of HTTP/2, which begin with a colon, are not headers here.
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
      // A client may read the answer only after it sent the whole body, so read the rest, as node:http does.
      async cancel() {
        await parts?.return();
        request.resume();
      },
    },
    { highWaterMark: 0 },
  );
}

/** The body that a parser left, if it is still unparsed. */
function readBefore({ body }) {
  if (typeof body === 'string' || ArrayBuffer.isView(body)) return body;
  throw new Error(
    'the body was already read, and request.body is not bytes or text; put toNodeHandler before the body parsers',
  );
}

async function send(answer, response) {
  response.statusCode = answer.status;
  for (const [name, value] of answer.headers) response.setHeader(name, value);
  response.end(Buffer.from(await answer.arrayBuffer()));
}

module.exports = { toNodeHandler };
