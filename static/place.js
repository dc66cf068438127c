// @ts-check
/** Where in a chart someone clicked, in the chart's own coordinates. */

/**
 * The place of a click on the plotting area of the chart in `figure`; null beside it. Both axes run evenly.
 * @param {MouseEvent} event
 * @param {Element} figure
 * @returns {[number, number] | null}
 */
export function placeOf(event, figure) {
  const box = figure.querySelector(".nsewdrag")?.getBoundingClientRect();
  const source = figure.nextElementSibling?.textContent;
  if (!box || !source) return null;
  const [across, up] = [(event.clientX - box.left) / box.width, (box.bottom - event.clientY) / box.height];
  if (Math.min(across, up) < 0 || Math.max(across, up) > 1) return null;
  const { xaxis, yaxis } = JSON.parse(source).layout;
  return [along(xaxis.range, across), along(yaxis.range, up)];
}

/** @param {[number, number]} range @param {number} part */
function along([first, last], part) {
  return first + (last - first) * part;
}
