'use strict';
// A handler of `Request` and `Response` behind Express, or in a server of node:http.

/**
 * `handler` as `(request, response, next)`. With `next`, as Express gives it, paths that are not its own go on. Use it
 * before anything that reads bodies.
 */
function toNodeHandler(handler) {
  if (typeof handler !== 'function') throw new TypeError('toNodeHandler: the handler is not a function');
  return async (request, response, next) => {
    try {
      const asked = fromNode(request);
      if (next && handler.serves && !handler.serves(new URL(asked.url).pathname)) return next();
      await send(await handler(asked), response);
    } catch (problem) {
      if (next) return next(problem);
      console.error(problem);
      if (!response.headersSent) response.statusCode = 500;
      response.end();
    }
  };
}

function fromNode(request) {
  const headers = new Headers();
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    // Those of HTTP/2 that begin with a colon are not headers here.
    if (!request.rawHeaders[at].startsWith(':')) headers.append(request.rawHeaders[at], request.rawHeaders[at + 1]);
  }
  // Express cuts the place where a handler is mounted from `url`. The host is of no use, and not to be believed.
  const path = request.originalUrl ?? request.url;
  const url = `http://localhost${path.startsWith('/') ? path : '/'}`;
  const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
  return new Request(url, {
    method: request.method,
    headers,
    ...(hasBody && { body: bodyOf(request), duplex: 'half' }),
  });
}

function bodyOf(request) {
  if (Buffer.isBuffer(request.body)) return request.body;
  if (request.readableEnded) {
    throw new Error('the body was read before: put toNodeHandler before the parsers of bodies');
  }
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

async function send(answer, response) {
  response.statusCode = answer.status;
  for (const [name, value] of answer.headers) response.setHeader(name, value);
  response.end(Buffer.from(await answer.arrayBuffer()));
}

module.exports = { toNodeHandler };
