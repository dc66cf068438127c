// @ts-check
/**
 * An attention grid as a canvas: one square a query and key, tinted by its value, drawn from the table that stands
 * behind it. Pointing at a square, or walking with the arrow keys, says query, key and score; Enter or a click opens the
 * cell. The table stays for screen readers, for scripts off, and to choose cells by tab.
 */
import { PAGE, PART } from "../visit.js";

const LARGEST_PX = 20;
const SMALLEST_PX = 4;
const WIDEST_PX = 640;

/** @typedef {{row: number, column: number, value: number, strength: number, link: HTMLAnchorElement}} Square */

export function startGrids() {
  document.addEventListener(PAGE, drawAll);
  document.addEventListener(PART, drawAll);
  document.addEventListener("longhand:theme", drawAll);
}

function drawAll() {
  for (const holder of document.querySelectorAll("[data-marks='grid']")) {
    const table = holder.querySelector("table");
    if (table) draw(holder, table);
  }
}

/**
 * Draws the grid of a table into its holder, before the table. @param {Element} holder @param {HTMLTableElement} table
 */
export function draw(holder, table) {
  const squares = read(table);
  const rows = table.tBodies[0]?.rows.length ?? 0;
  const columns = rows ? squares.length / rows : 0;
  if (!Number.isInteger(columns) || columns < 2) return;
  const side = Math.max(SMALLEST_PX, Math.min(LARGEST_PX, Math.floor(WIDEST_PX / columns)));
  const figure = /** @type {HTMLElement | null} */ (holder.querySelector(".grid-canvas"));
  if (!figure) return;
  if (!figure.firstChild) fill(figure, table);
  const canvas = /** @type {HTMLCanvasElement} */ (figure.querySelector("canvas"));
  const said = /** @type {HTMLElement} */ (figure.querySelector("output"));
  const scale = window.devicePixelRatio || 1;
  canvas.width = columns * side * scale;
  canvas.height = rows * side * scale;
  canvas.style.width = `${columns * side}px`;
  canvas.style.height = `${rows * side}px`;
  const brush = canvas.getContext("2d");
  if (!brush) return;
  brush.scale(scale, scale);
  const colour = { pos: themed(canvas, "--pos"), neg: themed(canvas, "--neg"), ground: themed(canvas, "--sunk"), ring: themed(canvas, "--mark-line") };
  let at = squares.findIndex((square) => square.link.getAttribute("aria-current") === "true");

  const paint = () => {
    brush.clearRect(0, 0, canvas.width, canvas.height);
    for (const square of squares) {
      const [x, y] = [square.column * side, square.row * side];
      brush.globalAlpha = 1;
      brush.fillStyle = colour.ground;
      brush.fillRect(x + 1, y + 1, side - 1, side - 1);
      brush.globalAlpha = square.strength;
      brush.fillStyle = square.value < 0 ? colour.neg : colour.pos;
      brush.fillRect(x + 1, y + 1, side - 1, side - 1);
    }
    brush.globalAlpha = 1;
    if (at >= 0 && squares[at]) {
      brush.strokeStyle = colour.ring;
      brush.lineWidth = 2;
      brush.strokeRect(squares[at].column * side + 1, squares[at].row * side + 1, side - 1, side - 1);
    }
  };
  /** @param {number} place */
  const point = (place) => {
    if (!squares[place] || place === at) return;
    at = place;
    const label = squares[at].link.getAttribute("aria-label") ?? "";
    said.textContent = `${names(table, squares[at])}: ${label}`;
    paint();
  };
  canvas.onpointermove = (event) => point(Math.floor(event.offsetY / side) * columns + Math.floor(event.offsetX / side));
  canvas.onclick = () => squares[at]?.link.click();
  canvas.onkeydown = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
    if (step) {
      const next = Math.max(0, at) + step;
      const leaves = Math.abs(step) === 1 && Math.floor(next / columns) !== Math.floor(Math.max(0, at) / columns);
      if (!leaves) point(next);
    } else if (event.key === "Enter") squares[at]?.link.click();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  paint();
}

/** A custom property as a colour that a canvas takes: the theme's side of light-dark(). @param {HTMLElement} element @param {string} name */
export function themed(element, name) {
  element.style.color = `var(${name})`;
  const found = window.getComputedStyle(element).color;
  element.style.color = "";
  return found;
}

/** @param {HTMLElement} figure @param {HTMLTableElement} table */
function fill(figure, table) {
  const canvas = document.createElement("canvas");
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", `${table.caption?.textContent?.trim() || "attention"} as a picture: arrow keys walk, Enter opens a cell`);
  const said = document.createElement("output");
  said.textContent = "Point at a square.";
  figure.append(canvas, said);
}

/** @param {HTMLTableElement} table @returns {Square[]} */
function read(table) {
  return [...table.querySelectorAll("tbody a")].map((element) => {
    const link = /** @type {HTMLAnchorElement} */ (element);
    const cell = /** @type {HTMLTableCellElement} */ (link.closest("td"));
    const row = /** @type {HTMLTableRowElement} */ (cell.parentElement);
    return {
      row: row.sectionRowIndex,
      column: cell.cellIndex - row.querySelectorAll("th").length,
      value: Number(link.querySelector("data")?.getAttribute("value")),
      strength: Number(link.style.getPropertyValue("--a")),
      link,
    };
  });
}

/** The names of a square's row and column. @param {HTMLTableElement} table @param {Square} square */
function names(table, square) {
  const corner = table.querySelector(".corner")?.textContent?.split("\\").map((name) => name.trim()) ?? ["", ""];
  const row = table.tBodies[0].rows[square.row].querySelector("th")?.textContent ?? "";
  const column = table.tHead?.rows[0].querySelectorAll("th")[square.column]?.textContent ?? "";
  return `${corner[0]} ${row}, ${corner[1]} ${column}`;
}
