// @ts-check
/** The scene as a picture that stands alone: styles written into it, fonts inside, the theme's ground behind it. */

const SVG = "http://www.w3.org/2000/svg";
const PNG_SCALE = 3;
const MARGIN = 12;

/** What of the computed style an exported element keeps. */
const PROPERTIES = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "stroke-opacity", "opacity", "visibility",
  "display", "font-family", "font-size", "font-weight", "font-style", "text-anchor", "dominant-baseline", "paint-order", "letter-spacing", "font-variant-numeric",
];

const FONTS = [400, 600].map((weight) => ({
  weight,
  url: `/assets/@fontsource/ibm-plex-mono/files/ibm-plex-mono-latin-${weight}-normal.woff2`,
}));

/**
 * @typedef {object} Picture
 * @property {number} width
 * @property {number} height
 * @property {() => Promise<string>} text SVG source
 */

/** The drawing that is seen now, or null where the view has none. @returns {Picture | null} */
export function picture() {
  const svg = [...document.querySelectorAll("#scene svg:not(.icon)")].find((candidate) => candidate.checkVisibility());
  if (!(svg instanceof SVGSVGElement)) return null;
  const box = svg.viewBox.baseVal;
  return { width: box.width + 2 * MARGIN, height: box.height + 2 * MARGIN, text: () => standalone(svg) };
}

/** A file name that says what it is of. @param {string} extension */
export function pictureName(extension) {
  const lesson = document.querySelector("main")?.getAttribute("data-lesson") ?? "longhand";
  const view = document.querySelector("#scene")?.getAttribute("data-view") ?? "scene";
  return `${lesson}-${view}.${extension}`;
}

/** @param {Picture} drawn @returns {Promise<Blob>} a PNG at three times the drawing's own size */
export async function raster(drawn) {
  const image = new Image();
  const url = URL.createObjectURL(new Blob([await drawn.text()], { type: "image/svg+xml" }));
  try {
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = drawn.width * PNG_SCALE;
    canvas.height = drawn.height * PNG_SCALE;
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => {
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("expected a PNG; the canvas gave none"))), "image/png");
    });
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** @param {SVGSVGElement} svg */
async function standalone(svg) {
  const copy = /** @type {SVGSVGElement} */ (svg.cloneNode(true));
  writeStyles(svg, copy);
  const { x, y, width, height } = svg.viewBox.baseVal;
  const box = { x: x - MARGIN, y: y - MARGIN, width: width + 2 * MARGIN, height: height + 2 * MARGIN };
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("viewBox", `${box.x} ${box.y} ${box.width} ${box.height}`);
  copy.setAttribute("width", String(box.width));
  copy.setAttribute("height", String(box.height));
  copy.style.removeProperty("display");
  const ground = document.createElementNS(SVG, "rect");
  for (const [name, value] of Object.entries(box)) ground.setAttribute(name, String(value));
  ground.style.fill = getComputedStyle(required("#stage")).backgroundColor;
  const style = document.createElementNS(SVG, "style");
  style.textContent = (await Promise.all(FONTS.map(fontFace))).join("\n");
  copy.prepend(style, ground);
  for (const link of copy.querySelectorAll("a[href]")) link.setAttribute("href", new URL(link.getAttribute("href") ?? "", window.location.href).href);
  return new XMLSerializer().serializeToString(copy);
}

/** @param {Element} from @param {Element} to */
function writeStyles(from, to) {
  const computed = getComputedStyle(from);
  const text = PROPERTIES.map((name) => `${name}:${plain(computed.getPropertyValue(name))}`).join(";");
  to.setAttribute("style", text);
  to.removeAttribute("class");
  [...from.children].forEach((child, i) => writeStyles(child, to.children[i]));
}

/** Mixed colours as every SVG reader knows them. @param {string} value */
function plain(value) {
  return value.replace(/color\(srgb ([^)]*)\)/g, (_, parts) => {
    const [red, green, blue, alpha = 1] = String(parts).split(/[\s/]+/).map(Number);
    return `rgba(${[red, green, blue].map((part) => Math.round(part * 255)).join(",")},${alpha})`;
  });
}

/** @param {{weight: number, url: string}} font */
async function fontFace({ weight, url }) {
  const response = await fetch(url);
  if (!response.ok) return "";
  const bytes = new Uint8Array(await response.arrayBuffer());
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return `@font-face{font-family:"IBM Plex Mono";font-weight:${weight};src:url(data:font/woff2;base64,${btoa(binary)}) format("woff2")}`;
}

/** @param {string} selector */
function required(selector) {
  const element = document.querySelector(selector);
  if (!element) throw new Error(`expected ${selector} on the page; got none`);
  return element;
}
