// @ts-check
/**
 * The keyboard: the timeline's keys, arrow keys between cells (one tab stop a grid), and the list of keys.
 */
import { PAINTED } from "./visit.js";

/** @type {ReadonlyArray<readonly [string[], string]>} */
const KEYS = [
  [["←", "→"], "one step back, one step on"],
  [["Home", "End"], "first step, last step"],
  [["Space"], "play or pause"],
  [["Tab"], "into the picture, a table, the fields"],
  [["←", "→", "↑", "↓"], "inside a picture or table: to the next cell"],
  [["Enter"], "open the cell"],
  [["Esc"], "leave the picture or table"],
  [["?"], "this list"],
];

/** @type {Record<string, readonly [number, number]>} */
const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** @type {Record<string, string>} */
const ACTIONS = { ArrowLeft: "back", ArrowRight: "forward", Home: "start", End: "end", " ": "play" };

export function startKeys() {
  document.addEventListener("keydown", onKey);
  document.addEventListener("focusin", onFocus);
  document.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("[data-action=keys]")) showKeys();
  });
  document.addEventListener(PAINTED, setTabStops);
  window.addEventListener("resize", setTabStops);
  document.addEventListener("toggle", setTabStops, true);
  for (const button of document.querySelectorAll("[data-action=keys]")) button.removeAttribute("hidden");
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  const target = event.target;
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !(target instanceof Element)) return;
  if (target.closest("input, select, textarea, [contenteditable], dialog")) return;
  if (event.key === "?") {
    event.preventDefault();
    showKeys();
    return;
  }
  const grid = target.closest("[data-grid]");
  if (grid && event.key === "Escape") {
    event.preventDefault();
    leave(grid);
    return;
  }
  const direction = DIRECTIONS[event.key];
  if (grid && direction && grid.getAttribute("data-grid") !== "row" && target !== grid) {
    event.preventDefault();
    neighbour(grid, target, direction)?.focus();
    return;
  }
  const action = ACTIONS[event.key];
  if (!action || (action === "play" && target.closest("button, summary, [role=button]"))) return;
  const control = document.querySelector(`.transport [data-action=${action}]`);
  if (!(control instanceof HTMLElement) || control.hidden) return;
  event.preventDefault();
  if (control.getAttribute("aria-disabled") !== "true") control.click();
}

/** The cell nearest in a direction; sideways distance counts double. @param {Element} grid @param {Element} from @param {readonly [number, number]} direction */
function neighbour(grid, from, [dx, dy]) {
  const start = centre(from);
  let best = null;
  let least = Infinity;
  for (const item of items(grid)) {
    if (item === from) continue;
    const { x, y } = centre(item);
    const along = (x - start.x) * dx + (y - start.y) * dy;
    const aside = Math.abs((x - start.x) * dy) + Math.abs((y - start.y) * dx);
    if (along < 1 || aside > 4 * along) continue;
    const distance = along + 2 * aside;
    if (distance < least) [best, least] = [item, distance];
  }
  return best;
}

/** @param {Element} element */
function centre(element) {
  const { left, top, width, height } = element.getBoundingClientRect();
  return { x: left + width / 2, y: top + height / 2 };
}

/** What can be seen and opened in a grid. @param {Element} grid @returns {(HTMLElement | SVGElement)[]} */
function items(grid) {
  const links = [...grid.querySelectorAll("[data-cell], [data-step]")];
  return links.flatMap((link) =>
    (link instanceof HTMLElement || link instanceof SVGElement) && link.closest("[data-grid]") === grid && link.checkVisibility() ? [link] : [],
  );
}

/** Focus goes to the grid itself, so that Tab leads on from there. @param {Element} grid */
function leave(grid) {
  if (!(grid instanceof HTMLElement)) return;
  grid.tabIndex = -1;
  grid.focus({ preventScroll: true });
}

/** One tab stop a grid: the cell with focus, else the current one, else the first. All is read before anything is set. */
function setTabStops() {
  for (const all of [...document.querySelectorAll("[data-grid]")].map(items)) {
    stopAt(all, all.find((item) => item === document.activeElement) ?? all.find(isCurrent) ?? all[0]);
  }
}

/** @param {Element[]} all @param {Element | undefined} stop */
function stopAt(all, stop) {
  for (const item of all) {
    const order = item === stop ? "0" : "-1";
    if (item.getAttribute("tabindex") !== order) item.setAttribute("tabindex", order);
  }
}

/** @param {Element} item */
function isCurrent(item) {
  return item.hasAttribute("aria-current") || item.classList.contains("selected");
}

/** @param {FocusEvent} event */
function onFocus(event) {
  const item = event.target instanceof Element ? event.target.closest("[data-cell], [data-step]") : null;
  const grid = item?.closest("[data-grid]");
  if (!item || !grid) return;
  stopAt(items(grid), item);
}

function showKeys() {
  const dialog = document.querySelector("dialog.keys") ?? makeDialog();
  if (dialog instanceof HTMLDialogElement && !dialog.open) dialog.showModal();
}

function makeDialog() {
  const dialog = document.createElement("dialog");
  dialog.className = "keys";
  dialog.setAttribute("aria-labelledby", "keys-title");
  const title = document.createElement("h2");
  title.id = "keys-title";
  title.textContent = "Keys";
  const list = document.createElement("dl");
  for (const [keys, meaning] of KEYS) {
    const term = document.createElement("dt");
    for (const key of keys) {
      const cap = document.createElement("kbd");
      cap.textContent = key;
      term.append(cap);
    }
    const words = document.createElement("dd");
    words.textContent = meaning;
    list.append(term, words);
  }
  const form = document.createElement("form");
  form.method = "dialog";
  const close = document.createElement("button");
  close.textContent = "Close";
  form.append(close);
  dialog.append(title, list, form);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  return dialog;
}
