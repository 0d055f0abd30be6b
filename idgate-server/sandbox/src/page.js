'use strict';
// Shows what changed. What somebody opened stays open, what was chosen stays chosen, and where the keyboard
// is it stays; while it is in a field, everything waits.
const live = document.getElementById('live');
let last = live.innerHTML;

const isBeingFilled = () =>
  live.contains(document.activeElement) && document.activeElement.matches('select, input, textarea');

/** What may be used of the entries, each by a name that it keeps: an entry has an id, or one field. */
const parts = (what) =>
  [...live.querySelectorAll('li')].flatMap((entry) => {
    const id = entry.id || entry.querySelector('input')?.value;
    return [...entry.querySelectorAll(what)].map((part, at) => [`${id} ${part.localName} ${part.value ?? at}`, part]);
  });

function replace(html) {
  const opened = new Set(parts('details').filter(([, part]) => part.open).map(([key]) => key));
  const chosen = parts('select').map(([, part]) => [part.closest('li').id, part.value]);
  const focused = parts('button, summary, a').find(([, part]) => part === document.activeElement)?.[0];
  live.innerHTML = html;
  for (const [key, part] of parts('details')) part.open = opened.has(key);
  for (const [id, value] of chosen) {
    const select = document.getElementById(id)?.querySelector('select');
    if (select) select.value = value;
  }
  if (focused) parts('button, summary, a').find(([key]) => key === focused)?.[1].focus();
}

async function look() {
  try {
    const answer = await fetch('/live');
    const html = answer.ok ? await answer.text() : last;
    if (html !== last && !isBeingFilled()) {
      replace(html);
      last = html;
    }
  } catch {
    // The sandbox has ended, or starts again.
  }
  setTimeout(look, 1000);
}

setTimeout(look, 1000);
