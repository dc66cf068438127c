// @ts-check
/** One icon out of the sprite; it takes the colour of the text and says nothing to screen readers. */

const SVG = "http://www.w3.org/2000/svg";

/** @param {string} name an id in /static/icons.svg @returns {SVGSVGElement} */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("focusable", "false");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `/static/icons.svg#${name}`);
  svg.append(use);
  return svg;
}

/** Shows another icon where one is. @param {Element} within @param {string} name */
export function setIcon(within, name) {
  within.querySelector("use")?.setAttribute("href", `/static/icons.svg#${name}`);
}
