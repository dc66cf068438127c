// @ts-check
/**
 * Hovering or focusing a cell lights the cells it was made of and those it feeds, wherever they are drawn. What was made
 * of what is in the page (`#made-of`); what a cell feeds is the same table read backwards.
 */
import { PAGE } from "./visit.js";

const MADE_OF = "lit-from";
const FEEDS = "lit-to";
/** A line that belongs to a cell drawn elsewhere names it in data-lights. */
const NAMED = "[data-cell], [data-lights]";

/** @type {Map<string, Set<string>>} */
let sources = new Map();
/** @type {Map<string, Set<string>>} */
let uses = new Map();
let lit = "";

export function startLight() {
  document.addEventListener(PAGE, () => {
    read();
    const again = lit;
    lit = "";
    light(again);
  });
  document.addEventListener("pointerover", (event) => light(cellOf(event.target)));
  document.addEventListener("focusin", (event) => light(cellOf(event.target)));
  document.addEventListener("focusout", () => light(""));
  document.documentElement.addEventListener("pointerleave", () => light(""));
}

function read() {
  sources = new Map();
  uses = new Map();
  /** @type {Record<string, string[]>} */
  const table = JSON.parse(document.querySelector("#made-of")?.textContent || "{}");
  for (const [cell, parts] of Object.entries(table)) {
    sources.set(cell, new Set(parts));
    for (const part of parts) uses.set(part, (uses.get(part) ?? new Set()).add(cell));
  }
}

/** @param {EventTarget | null} target */
function cellOf(target) {
  return nameOf(target instanceof Element ? target.closest(NAMED) : null);
}

/** @param {Element | null} element */
function nameOf(element) {
  return element?.getAttribute("data-cell") ?? element?.getAttribute("data-lights") ?? "";
}

/** @param {string} cell */
function light(cell) {
  if (cell === lit) return;
  lit = cell;
  const made = sources.get(cell);
  const fed = uses.get(cell);
  for (const element of document.querySelectorAll("#stage :is([data-cell], [data-lights])")) {
    const name = nameOf(element);
    const isSource = made?.has(name) ?? false;
    const isUse = fed?.has(name) ?? false;
    element.classList.toggle(MADE_OF, isSource);
    element.classList.toggle(FEEDS, isUse);
    element.classList.toggle("lit", isSource || isUse);
  }
}
