// @ts-check
/**
 * What is said while an answer is awaited and when none came: stale numbers, a progress line with a cancel button after
 * 300 ms, a message that keeps what was typed, and the sentence for screen readers.
 */
import { icon } from "./icon.js";

const DIM_AFTER_MS = 80;
const SHOW_AFTER_MS = 300;
const ANNOUNCE_AFTER_MS = 350;

let timer = 0;
let dimming = 0;
let announcing = 0;

/** Numbers on the page no longer belong to what the fields say. They are dimmed if the answer is not there at a glance. */
export function markStale() {
  const main = document.querySelector("main");
  main?.setAttribute("aria-busy", "true");
  if (!main || main.hasAttribute("data-stale")) return;
  main.setAttribute("data-stale", "");
  window.clearTimeout(dimming);
  dimming = window.setTimeout(() => document.querySelector("main[data-stale]")?.setAttribute("data-stale", "dimmed"), DIM_AFTER_MS);
}

/** Shows a progress line if `end` is not called within 300 ms. @param {() => void} cancel */
export function begin(cancel) {
  window.clearTimeout(timer);
  timer = window.setTimeout(() => {
    const text = document.createElement("span");
    text.textContent = "Working it out…";
    show("waiting", text, button("Cancel", cancel));
  }, SHOW_AFTER_MS);
}

/** The answer is in. */
export function end() {
  window.clearTimeout(timer);
  window.clearTimeout(dimming);
  hide();
  const main = document.querySelector("main");
  main?.removeAttribute("aria-busy");
  main?.removeAttribute("data-stale");
}

/**
 * No answer came: says so and stays until the next answer; the numbers stay marked as stale.
 * @param {string} message
 * @param {() => void} retry
 */
export function fail(message, retry) {
  window.clearTimeout(timer);
  document.querySelector("main")?.removeAttribute("aria-busy");
  const text = document.createElement("span");
  text.textContent = message;
  show("failed", icon("warn"), text, button("Try again", retry));
  announce(message);
}

/** Speaks through the page's status line, once things have settled. @param {string} sentence */
export function announce(sentence) {
  window.clearTimeout(announcing);
  announcing = window.setTimeout(() => {
    const line = document.querySelector("#announce");
    if (line) line.textContent = sentence;
  }, ANNOUNCE_AFTER_MS);
}

/** @param {string} state @param {...Node} content */
function show(state, ...content) {
  const line = document.querySelector("#progress");
  if (!(line instanceof HTMLElement)) return;
  line.dataset.state = state;
  line.replaceChildren(...content);
  line.hidden = false;
}

function hide() {
  const line = document.querySelector("#progress");
  if (line instanceof HTMLElement) line.hidden = true;
}

/** @param {string} label @param {() => void} action */
function button(label, action) {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = label;
  element.addEventListener("click", action);
  return element;
}
