'use strict';
// Follows the page at its own address, copies, and holds the buttons of the wallet while one of them is at work.
// Elements stay the same ones while their contents change, so that focus, choices and unfolded parts stay.
const main = document.querySelector('main');
const live = document.getElementById('live');
const said = document.getElementById('said');
document.documentElement.classList.add('has-script');

/**
 * The attributes that people change, which the page does not take back. `value` is not one of them: it is the default of a
 * field, and the meaning of a hidden field or a button.
 */
const OWN = new Set(['open', 'disabled', 'checked', 'selected']);

function attributes(to, from) {
  for (const { name } of [...to.attributes]) if (!OWN.has(name) && !from.hasAttribute(name)) to.removeAttribute(name);
  for (const { name, value } of from.attributes) {
    if (!OWN.has(name) && to.getAttribute(name) !== value) to.setAttribute(name, value);
  }
}

/** The child that stands for `next`: that of its id, or the next one of its kind without an id. */
function counterpart(to, at, next) {
  if (next.id) return [...to.children].find((child) => child.id === next.id);
  let found = at;
  while (found && (found.id || found.nodeName !== next.nodeName)) found = found.nextSibling;
  return found;
}

/** Whether a child that is left over stays: it comes later, or the keyboard's focus is in it. */
const stays = (child, from) => child.nodeType === Node.ELEMENT_NODE
  && (child.contains(document.activeElement) || (child.id && [...from.children].some(({ id }) => id === child.id)));

/** Goes on from `at` to behind `end`, and removes what has gone. */
function behind(at, end, from) {
  while (at && at !== end) {
    const child = at;
    at = at.nextSibling;
    if (!stays(child, from)) child.remove();
  }
  return end?.nextSibling ?? null;
}

/** Makes `to` what `from` is. */
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

/** The page as it is now; nothing where the sandbox does not answer. */
async function fetched(options) {
  try {
    const answer = await fetch(location.pathname, options);
    // A session that is gone has a page that says so.
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
    // Keys that were shown stay until the page is left.
    if (next && !document.getElementById('shown')) {
      become(main, next);
      document.title = now.title;
    }
  }
  setTimeout(look, 1000);
}

/** What a button copies: its own text, or that of its box or row. */
function textFor(button) {
  if (button.dataset.text !== undefined) return button.dataset.text;
  return button.closest('.box')?.querySelector('pre').textContent ?? button.parentElement.querySelector('code').textContent;
}

/** The keys as the page shows them before it is asked, and where they are when it was. */
const MASKED = { 'sk_test_…': '#api_key code', 'whsec_…': '#signing_secret code' };

/** Whether the page wrote the mask there; a text that arrived from elsewhere may have one as well. */
const isMasked = (text, mask) => text === mask || text.startsWith(`export API_KEY=${mask}\n`);

/** The text with the key in its place. */
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
    words = 'The browser does not let this page copy';
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
  // After the browser has read which one it was.
  if (target.matches('.answering')) setTimeout(() => hold(target, true));
});

function hold(form, isHeld) {
  for (const button of form.querySelectorAll('button')) button.disabled = isHeld;
}

// A page that comes back from the browser's memory.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) document.querySelectorAll('.answering').forEach((form) => hold(form, false));
});

/** In a narrow window the bars scroll, and the current link may be outside. */
function showCurrent() {
  for (const bar of document.querySelectorAll('nav')) {
    const current = bar.querySelector('[aria-current]');
    if (current) bar.scrollLeft = current.offsetLeft - bar.offsetLeft - (bar.clientWidth - current.offsetWidth) / 2;
  }
}

showCurrent();
addEventListener('resize', showCurrent);
setTimeout(look, 1000);
