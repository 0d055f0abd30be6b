'use strict';
// Shows what changed, unless somebody is at it: a choice that was made or a code that is shown stays.
const live = document.getElementById('live');
let last = live.innerHTML;

const isInUse = () => live.contains(document.activeElement) || live.querySelector('details[open]') !== null;

async function look() {
  try {
    const answer = await fetch('/live');
    const html = answer.ok ? await answer.text() : last;
    if (html !== last && !isInUse()) {
      live.innerHTML = html;
      last = html;
    }
  } catch {
    // The sandbox has ended, or starts again.
  }
  setTimeout(look, 1000);
}

setTimeout(look, 1000);
