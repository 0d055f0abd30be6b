'use strict';
// Refreshes the page from its own address, copies texts, and disables the wallet's buttons while one of them works.
// Elements are updated in place, so that focus, choices and unfolded parts stay.
const main = document.querySelector('main');
const live = document.getElementById('live');
const said = document.getElementById('said');
document.documentElement.classList.add('has-script');

/**
 * Attributes that the person changes; a refresh leaves them alone. `value` is not among them: it is the default of a
 * field, or the meaning of a hidden field or a button.
 */
const OWN = new Set(['open', 'disabled', 'checked', 'selected']);

function attributes(to, from) {
  for (const { name } of [...to.attributes]) if (!OWN.has(name) && !from.hasAttribute(name)) to.removeAttribute(name);
  for (const { name, value } of from.attributes) {
    if (!OWN.has(name) && to.getAttribute(name) !== value) to.setAttribute(name, value);
  }
}

/** The child that `next` updates: the one with its id, or the next element of its kind without an id. */
function counterpart(to, at, next) {
  if (next.id) return [...to.children].find((child) => child.id === next.id);
  let found = at;
  while (found && (found.id || found.nodeName !== next.nodeName)) found = found.nextSibling;
  return found;
}

/** Whether to keep an unmatched child: it matches later, or it has the keyboard's focus. */
const stays = (child, from) => child.nodeType === Node.ELEMENT_NODE
  && (child.contains(document.activeElement) || (child.id && [...from.children].some(({ id }) => id === child.id)));

/** Moves from `at` to the node after `end`, and removes the children that are gone. */
function behind(at, end, from) {
  while (at && at !== end) {
    const child = at;
    at = at.nextSibling;
    if (!stays(child, from)) child.remove();
  }
  return end?.nextSibling ?? null;
}

/** Updates `to` in place so that it equals `from`. */
function become(to, from) {
  if (to.nodeType !== Node.ELEMENT_NODE) {
    if (to.data !== from.data) to.data = from.data;
    return;
  }
  attributes(to, from);
  let at = to.firstChild;
  for (const next of [...from.childNodes]) {
    const found = counterpart(to, at, next);
    if (found) {
      const isAhead = found === at || (at && at.compareDocumentPosition(found) & Node.DOCUMENT_POSITION_FOLLOWING);
      if (isAhead) at = behind(at, found, from);
      become(found, next);
    } else {
      const added = document.importNode(next, true);
      if (added.nodeName === 'LI') added.classList.add('fresh');
      to.insertBefore(added, at);
    }
  }
  behind(at, null, from);
}

function tell(isLive) {
  live.classList.toggle('off', !isLive);
  const words = isLive ? 'Live' : 'Connection lost. Trying again';
  const text = live.querySelector('span');
  if (text.textContent !== words) text.textContent = words;
}

/** The current page; undefined if the sandbox does not answer. */
async function fetched(options) {
  try {
    const answer = await fetch(location.pathname, options);
    // 404 has a page, too: the session is gone.
    if (!answer.ok && answer.status !== 404) return undefined;
    return new DOMParser().parseFromString(await answer.text(), 'text/html');
  } catch {
    return undefined;
  }
}

async function look() {
  if (document.visibilityState === 'visible') {
    const now = await fetched();
    tell(now !== undefined);
    const next = now?.querySelector('main');
    // Keep the keys on screen until the person leaves the page.
    if (next && !document.getElementById('shown')) {
      become(main, next);
      document.title = now.title;
    }
  }
  setTimeout(look, 1000);
}

/** The text that a button copies: its own, or that of its box or row. */
function textFor(button) {
  if (button.dataset.text !== undefined) return button.dataset.text;
  return button.closest('.box')?.querySelector('pre').textContent ?? button.parentElement.querySelector('code').textContent;
}

/** The masks of the keys, and where the page with the keys has them. */
const MASKED = { 'sk_test_…': '#api_key code', 'whsec_…': '#signing_secret code' };

/** Whether the page itself wrote the mask; text from elsewhere may contain one, too. */
const isMasked = (text, mask) => text === mask || text.startsWith(`export API_KEY=${mask}\n`);

/** The text with the keys in place of their masks. */
async function whole(text) {
  const masked = Object.entries(MASKED).filter(([mask]) => isMasked(text, mask));
  if (masked.length === 0) return text;
  const answer = await fetch('/keys', { method: 'POST' });
  const keys = new DOMParser().parseFromString(await answer.text(), 'text/html');
  return masked.reduce((all, [mask, at]) => all.replace(mask, keys.querySelector(at).textContent), text);
}

let clearing;

async function copy(button) {
  let words = 'Copied';
  try {
    await navigator.clipboard.writeText(await whole(textFor(button)));
  } catch {
    words = 'The browser does not allow copying';
  }
  said.textContent = words;
  clearTimeout(clearing);
  clearing = setTimeout(() => (said.textContent = ''), 2000);
}

document.addEventListener('click', ({ target }) => {
  const button = target.closest('button.scripted');
  if (button) copy(button);
});

document.addEventListener('submit', ({ target }) => {
  // Later: the browser must first read which button was pressed.
  if (target.matches('.answering')) setTimeout(() => hold(target, true));
});

function hold(form, isHeld) {
  for (const button of form.querySelectorAll('button')) button.disabled = isHeld;
}

// The browser may restore the page from its cache.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) document.querySelectorAll('.answering').forEach((form) => hold(form, false));
});

/** In a narrow window the bars scroll, and the current link may be out of view. */
function showCurrent() {
  for (const bar of document.querySelectorAll('nav')) {
    const current = bar.querySelector('[aria-current]');
    if (current) bar.scrollLeft = current.offsetLeft - bar.offsetLeft - (bar.clientWidth - current.offsetWidth) / 2;
  }
}

showCurrent();
addEventListener('resize', showCurrent);
setTimeout(look, 1000);
