// @ts-check
/** The reader's own curve: a click in its picture moves the nearest of its heights there, through the page's form. */
import { placeOf } from "../place.js";

const HEIGHTS = 9;

/** @param {MouseEvent} event */
function onClick(event) {
  const figure = event.target instanceof Element ? event.target.closest("[data-figure='sum']") : null;
  const place = figure && placeOf(event, figure);
  if (!place) return;
  const field = document.querySelector(`#f-y${1 + Math.round(place[0] * (HEIGHTS - 1))}`);
  if (!(field instanceof HTMLInputElement)) return;
  field.value = place[1].toFixed(2);
  field.form?.requestSubmit();
}

document.addEventListener("click", onClick);
