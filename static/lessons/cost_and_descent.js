// @ts-check
/**
 * The descents' own controls: a click on the contours starts elsewhere, and Play takes one step after the other. Both go
 * through the page's form and links; the way itself is the server's.
 */
import { placeOf } from "../place.js";
import { settled, visit } from "../visit.js";

const STEP_MS = 350;

let timer = 0;

/** @param {MouseEvent} event */
function onClick(event) {
  if (!(event.target instanceof Element)) return;
  if (event.target.closest("[data-action='descend']")) {
    if (timer) stop();
    else void step();
    return;
  }
  stop();
  const figure = event.target.closest("[data-figure='walk']");
  const place = figure && placeOf(event, figure);
  if (!place) return;
  const [w, b] = [document.querySelector("#f-w"), document.querySelector("#f-b")];
  if (!(w instanceof HTMLInputElement) || !(b instanceof HTMLInputElement)) return;
  [w.value, b.value] = place.map((one) => one.toFixed(2));
  w.form?.requestSubmit();
}

/** Takes a step, and the next a little later, until there is no way on. */
async function step() {
  const link = document.querySelector("[data-walk='on'][href]");
  if (!(link instanceof HTMLAnchorElement)) return stop();
  timer = window.setTimeout(step, STEP_MS);
  show();
  const url = new URL(link.href);
  url.hash = "";
  await settled();
  if (timer) await visit(url.href, { history: "replace" });
  show();
}

function stop() {
  window.clearTimeout(timer);
  timer = 0;
  show();
}

/** The button says what pressing it does. */
function show() {
  const button = document.querySelector("[data-action='descend']");
  if (!(button instanceof HTMLElement)) return;
  button.hidden = false;
  button.setAttribute("aria-pressed", String(timer !== 0));
  button.textContent = timer ? "Pause" : "Play";
}

document.addEventListener("click", onClick);
document.addEventListener("longhand:page", show);
show();
