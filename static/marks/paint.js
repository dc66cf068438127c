// @ts-check
/**
 * A row of numbers as a picture that can be drawn on, with pointer or keys: every [data-marks=paint] is a form whose
 * field `data-field` takes the whole row in one word. Numbers come and go as float32 in base64url, in `data-code`; the
 * server makes pictures and every other number of them. Without scripts the form's own fields remain.
 */
import { PAGE } from "../visit.js";
import { themed } from "./grid.js";

const WIDEST_PX = 336;
const KEYS_SETTLE_MS = 500;
const SOFT = 0.5;
/** @type {Record<string, [number, number]>} */
const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/**
 * @typedef {object} Board
 * @property {HTMLFormElement} form
 * @property {HTMLCanvasElement} canvas
 * @property {HTMLOutputElement} said
 * @property {HTMLInputElement} sent what the form sends of the drawing; disabled else
 * @property {Float32Array} values
 * @property {number} rows
 * @property {number} columns
 * @property {number} full the magnitude of full strength
 * @property {number} brush the value that is drawn
 * @property {boolean} broad
 * @property {[number, number]} at the cursor's row and column
 * @property {boolean} drawing
 * @property {boolean} walked whether the cursor has been moved: before that it is not drawn
 * @property {number} timer
 */

/** @type {WeakMap<Element, Board>} */
const boards = new WeakMap();

export function startPaint() {
  document.addEventListener(PAGE, showAll);
  document.addEventListener("longhand:theme", showAll);
}

function showAll() {
  for (const form of document.querySelectorAll("form[data-marks='paint']")) if (form instanceof HTMLFormElement) show(form);
}

/** Takes in what the server says of the row, unless it is being drawn on. @param {HTMLFormElement} form */
function show(form) {
  const holder = form.querySelector(".board");
  if (!(holder instanceof HTMLElement)) return;
  let board = boards.get(holder);
  if (!board) {
    board = build(form, holder);
    boards.set(holder, board);
  }
  form.setAttribute("data-live", "");
  if (board.drawing || board.timer) return;
  board.values = decoded(form.getAttribute("data-code") ?? "");
  board.full = Number(form.getAttribute("data-full"));
  paint(board);
}

/** @param {HTMLFormElement} form @param {HTMLElement} holder @returns {Board} */
function build(form, holder) {
  const canvas = document.createElement("canvas");
  canvas.tabIndex = 0;
  canvas.id = `${form.id}-canvas`;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", `${form.getAttribute("data-symbol")}: arrow keys move, space draws, with shift arrows draw`);
  const said = document.createElement("output");
  said.textContent = "Draw with the pointer, or with arrow keys and space.";
  const sent = document.createElement("input");
  sent.type = "hidden";
  sent.disabled = true;
  const tools = document.createElement("p");
  tools.className = "brushes";
  holder.replaceChildren(canvas, tools, said, sent);
  const [rows, columns] = (form.getAttribute("data-grid-shape") ?? "").split(",").map(Number);
  /** @type {{value: number, words: string}[]} */
  const brushes = JSON.parse(form.getAttribute("data-brushes") ?? "[]");
  /** @type {Board} */
  const board = {
    form, canvas, said, sent, rows, columns, values: new Float32Array(rows * columns), full: 1, brush: brushes[0].value, broad: true,
    at: [Math.floor(rows / 2), Math.floor(columns / 2)], drawing: false, walked: false, timer: 0,
  }; // prettier-ignore
  const choices = brushes.map(({ value, words }) => button(words, () => ((board.brush = value), press())));
  const broad = button("broad", () => ((board.broad = !board.broad), press()));
  const press = () => {
    choices.forEach((one, place) => one.setAttribute("aria-pressed", String(brushes[place].value === board.brush)));
    broad.setAttribute("aria-pressed", String(board.broad));
  };
  press();
  tools.append(...choices, broad, button("clear", () => change(board, () => board.values.fill(0))));
  if (form.hasAttribute("data-centre")) tools.append(button("centre it", () => change(board, () => centre(board))));
  listen(board);
  return board;
}

/** @param {string} words @param {() => void} press */
function button(words, press) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = words;
  made.addEventListener("click", press);
  return made;
}

/** @param {Board} board */
function listen(board) {
  const { canvas } = board;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    board.drawing = true;
    point(board, event);
    dab(board);
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = board.at;
    if (!point(board, event)) return;
    if (board.drawing) along(board, before);
    else paint(board);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(end, () => {
      if (!board.drawing) return;
      board.drawing = false;
      send(board);
    });
  }
  canvas.addEventListener("keydown", (event) => {
    const step = ARROWS[event.key];
    if (event.altKey || event.ctrlKey || event.metaKey || !(step || event.key === " ")) return;
    event.preventDefault();
    event.stopPropagation();
    board.walked = true;
    if (step) board.at = [clamp(board.at[0] + step[0], board.rows), clamp(board.at[1] + step[1], board.columns)];
    if (!step || event.shiftKey) {
      dab(board);
      window.clearTimeout(board.timer);
      board.timer = window.setTimeout(() => send(board), KEYS_SETTLE_MS);
    } else paint(board);
  });
}

/** Moves the cursor under the pointer; whether it is on another cell than before. @param {Board} board @param {PointerEvent} event */
function point(board, event) {
  const box = board.canvas.getBoundingClientRect();
  const row = clamp(Math.floor(((event.clientY - box.top) / box.height) * board.rows), board.rows);
  const column = clamp(Math.floor(((event.clientX - box.left) / box.width) * board.columns), board.columns);
  const moved = row !== board.at[0] || column !== board.at[1];
  board.at = [row, column];
  board.walked = true;
  return moved;
}

/** Draws from a cell to the cursor. @param {Board} board @param {[number, number]} from */
function along(board, from) {
  const to = board.at;
  const steps = Math.max(Math.abs(to[0] - from[0]), Math.abs(to[1] - from[1]));
  for (let step = 1; step <= steps; step++) {
    board.at = [from[0] + Math.round(((to[0] - from[0]) * step) / steps), from[1] + Math.round(((to[1] - from[1]) * step) / steps)];
    dab(board);
  }
}

/** One touch of the brush. A broad one that inks a picture has soft edges, as pens have. @param {Board} board */
function dab(board) {
  const [row, column] = board.at;
  const soft = board.form.hasAttribute("data-centre") && board.brush > 0;
  for (let down = -1; down <= 1; down++) {
    for (let across = -1; across <= 1; across++) {
      const [y, x] = [row + down, column + across];
      if ((!board.broad && (down || across)) || y < 0 || x < 0 || y >= board.rows || x >= board.columns) continue;
      const place = y * board.columns + x;
      board.values[place] = soft && (down || across) ? Math.max(board.values[place], board.brush * SOFT) : board.brush;
    }
  }
  board.full = Math.max(board.full, Math.abs(board.brush));
  paint(board);
}

/** @param {Board} board @param {() => void} work */
function change(board, work) {
  work();
  paint(board);
  send(board);
}

/** Moves the drawing so that its centre of mass is in the middle, as the training images were made. @param {Board} board */
function centre(board) {
  let [mass, down, across] = [0, 0, 0];
  board.values.forEach((value, place) => {
    mass += value;
    down += value * Math.floor(place / board.columns);
    across += value * (place % board.columns);
  });
  if (!(mass > 0)) return;
  const shift = [Math.round(board.rows / 2 - down / mass), Math.round(board.columns / 2 - across / mass)];
  const before = board.values.slice();
  board.values.forEach((_, place) => {
    const [y, x] = [Math.floor(place / board.columns) - shift[0], (place % board.columns) - shift[1]];
    board.values[place] = y < 0 || x < 0 || y >= board.rows || x >= board.columns ? 0 : before[y * board.columns + x];
  });
}

/** Shows the drawing and the cursor. @param {Board} board */
function paint(board) {
  const { canvas, rows, columns } = board;
  const side = Math.floor(WIDEST_PX / columns);
  canvas.width = columns * side;
  canvas.height = rows * side;
  const pen = canvas.getContext("2d");
  if (!pen) return;
  const colour = { pos: themed(canvas, "--pos"), neg: themed(canvas, "--neg"), ring: themed(canvas, "--mark-line") };
  board.values.forEach((value, place) => {
    pen.globalAlpha = board.full ? Math.min(1, Math.abs(value) / board.full) : 0;
    pen.fillStyle = value < 0 ? colour.neg : colour.pos;
    pen.fillRect((place % columns) * side, Math.floor(place / columns) * side, side, side);
  });
  if (!board.walked) return;
  pen.globalAlpha = 1;
  pen.strokeStyle = colour.ring;
  pen.lineWidth = 2;
  pen.strokeRect(board.at[1] * side + 1, board.at[0] * side + 1, side - 2, side - 2);
  const value = board.values[board.at[0] * columns + board.at[1]];
  board.said.textContent = `Row ${board.at[0] + 1}, column ${board.at[1] + 1}: ${Number(value.toPrecision(4))}`.replace("-", "\u2212");
}

/** Sends the drawing with its form. @param {Board} board */
function send(board) {
  window.clearTimeout(board.timer);
  board.timer = 0;
  board.sent.name = board.form.getAttribute("data-field") ?? "";
  board.sent.value = encoded(board.values);
  board.sent.disabled = false;
  board.form.append(board.sent);
  board.form.requestSubmit();
  board.sent.disabled = true;
}

/** @param {number} at @param {number} size */
function clamp(at, size) {
  return Math.max(0, Math.min(size - 1, at));
}

/** @param {string} code @returns {Float32Array} */
export function decoded(code) {
  const bytes = Uint8Array.from(atob(code.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

/** @param {Float32Array} values */
export function encoded(values) {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
