// @ts-check
/** A rounded number shows all its digits when its cell has the focus or, in a picture, is pointed at. */
import { PAGE } from "./visit.js";

const ROUNDED = ".n[title], .n[data-digits]";

export function startDigits() {
  document.addEventListener("focusin", (event) => show(event.target, ROUNDED));
  document.addEventListener("focusout", hide);
  document.addEventListener("pointerover", (event) => show(event.target, ".n[data-digits]"));
  document.addEventListener("scroll", hide, { capture: true, passive: true });
  document.addEventListener(PAGE, hide);
}

/** @param {EventTarget | null} target @param {string} rounded */
function show(target, rounded) {
  hide();
  const cell = target instanceof Element ? target.closest("[data-cell]") : null;
  const numbers = [...(cell?.querySelectorAll(rounded) ?? [])].filter((one) => !one.closest(".was"));
  if (!cell || !numbers.length) return;
  const tip = document.createElement("div");
  tip.className = "digits";
  tip.setAttribute("aria-hidden", "true");
  tip.textContent = numbers.map((one) => one.getAttribute("title") ?? one.getAttribute("data-digits")).join(" → ");
  document.body.append(tip);
  const { left, top, width, bottom } = cell.getBoundingClientRect();
  const middle = left + width / 2 - tip.offsetWidth / 2;
  tip.style.left = `${Math.max(4, Math.min(middle, window.innerWidth - tip.offsetWidth - 4))}px`;
  tip.style.top = `${top > tip.offsetHeight + 8 ? top - tip.offsetHeight - 6 : bottom + 6}px`;
}

function hide() {
  document.querySelector("div.digits")?.remove();
}
