'use strict';
// The page of the examples in Chromium, on each of their servers, with third-party wallets: by the browser's dialogue
// and by the link. IDGATE_PYTHON: an interpreter with the Python package, for FastAPI.

const assert = require('node:assert/strict');
const path = require('node:path');
const { after, afterEach, before, test } = require('node:test');
const { PATIENCE_MS } = require('../../../tests/harness/patience.cjs');
const { UNSIGNED, answerLink, askBrowser, start } = require('./age_shop.js');

let chromium;

before(async () => {
  chromium = await import(path.join(__dirname, '..', '..', '..', 'tests', 'page', 'browser.js'));
});
afterEach(() => chromium.closeBrowsers());
after(() => chromium.endChromium());

/** The page of a shop in its own browser, with the answer of its wallet. */
async function open(t, base, answer) {
  const page = await chromium.browser();
  if (answer) t.diagnostic(await chromium.withWallet(page, answer, [UNSIGNED]));
  else await chromium.withoutDialogue(page);
  await page.goto(base);
  await page.click('#age');
  return page;
}

async function says(page, words) {
  await page.waitForFunction((text) => document.querySelector('#outcome').textContent === text, words);
  assert.equal(await page.isHidden('#link'), true);
  assert.deepEqual(page.seen.complaints, []);
  assert.ok(!(await told(page)).includes('Erika'), 'the page got more than it asked for');
}

/** Everything that a page received and requested. */
function told(page) {
  return chromium.everything(page, (url) => /^\/([a-z]+\.(js|css|html|ico))?$/.test(new URL(url).pathname));
}

for (const which of ['express', 'fastapi']) {
  const missing = which === 'fastapi' && !process.env.IDGATE_PYTHON && 'IDGATE_PYTHON is not set';
  const run = (title, body) =>
    test(`${which}: ${title}`, { skip: missing, timeout: 5 * PATIENCE_MS }, async (t) => {
      if (chromium.inBrowser.skip) return t.skip(chromium.inBrowser.skip);
      return body(t, await start(t, which));
    });

  run('from the click to the boolean by the browser’s own dialogue', async (t, { base, hold, wallet }) => {
    for (const [adult, words] of [
      [true, 'Welcome'],
      [false, 'For adults only'],
    ]) {
      const credential = await hold(adult);
      const answer = (digital, origin) => askBrowser(digital, origin, wallet, credential);
      await says(await open(t, base, answer), words);
    }
  });

  run('from the click to the boolean by the link', async (t, { base, hold, wallet }) => {
    for (const [adult, words] of [
      [true, 'Welcome'],
      [false, 'For adults only'],
    ]) {
      const page = await open(t, base);
      await page.waitForSelector('#link', { state: 'visible' });
      const link = await page.getAttribute('#link', 'href');
      assert.equal((await answerLink({ link }, wallet, await hold(adult))).status, 200);
      await says(page, words);
    }
  });

  run('who closes the dialogue has the link, and another browser nothing', async (t, { base, hold, wallet }) => {
    const page = await open(t, base, () => undefined);
    await page.waitForSelector('#link', { state: 'visible' });
    const link = await page.getAttribute('#link', 'href');
    const stranger = await chromium.browser();
    const urls = page.seen.texts.filter((text) => /^http.*\/age\/[\w-]{22}/.test(text));
    assert.ok(urls.length > 0);
    const look = async () => {
      for (const url of urls) assert.equal((await stranger.goto(url)).status(), 404);
    };
    await look();
    assert.equal((await answerLink({ link }, wallet, await hold(true))).status, 200);
    await look();
    await says(page, 'Welcome');
    assert.ok(!(await told(stranger)).includes('adult'));
  });
}
