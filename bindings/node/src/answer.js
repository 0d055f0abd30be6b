'use strict';
// Answers of wallets: posted by the wallet, or sent by a page.

const abi = require('./abi.js');
const { data, is, isPlain, options, text } = require('./options.js');

const POSTED = {
  to: is.text,
  body: is.data,
  contentType: is.text,
};

const BROWSERS = {
  name: 'the credential of a browser, as an object, text or bytes',
  fits: (value) => is.data.fits(value) || isPlain(value),
};

/** An answer in the library's form; `what` names the call. */
function read(what, answer) {
  if (!isPlain(answer)) throw new TypeError(`${what}: the answer is not an object`);
  if ('dcApi' in answer) {
    const { dcApi } = options(`${what}: the answer`, { dcApi: BROWSERS }, answer);
    if (dcApi === undefined) throw new TypeError(`${what}: the answer: dcApi is missing`);
    const body = is.data.fits(dcApi) ? dcApi : JSON.stringify(dcApi);
    return abi.sized('answer', { from_page: 1, body: abi.str(body) });
  }
  const { to, body, contentType } = options(`${what}: the answer`, POSTED, answer);
  text(to, `${what}: the answer: to`);
  data(body, `${what}: the answer: body`);
  return abi.sized('answer', { to: abi.str(to), content_type: abi.str(contentType), body: abi.str(body) });
}

module.exports = { read };
