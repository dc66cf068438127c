// @ts-check
/**
 * Charts: the server makes the figure (Plotly's JSON), this draws it when it comes into view and again when answers have
 * changed it; until then the old drawing is dimmed. Plotly is loaded only when a chart is seen. Colours that follow the theme are set here; data and scales are the server's.
 */
import { PAGE, PART } from "./visit.js";

const FLAT = "/assets/plotly.js-cartesian-dist-min/plotly-cartesian.min.js";
/** For a page with a chart in three dimensions (data-space): it draws that page's curves too, so one library is enough. */
const SPACE = "/assets/plotly.js-gl3d-dist-min/plotly-gl3d.min.js";
/** After the last answer: numbers come first, and while someone types each chart would be the last one's work thrown away. */
const DRAW_AFTER_MS = 120;

/**
 * @typedef {{data: object[], layout: Record<string, unknown>, config?: object}} Figure
 * @typedef {{react(container: Element, data: object[], layout: object, config: object): Promise<unknown>}} Plotly
 */

/** @type {Promise<Plotly> | null} */
let loading = null;
/** The figure text each container shows. @type {WeakMap<Element, string>} */
const drawn = new WeakMap();
/** Containers in view, or nearly. @type {WeakSet<Element>} */
const near = new WeakSet();
let waiting = 0;

const visibility = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) near.add(target);
      else near.delete(target);
    }
    drawNear();
  },
  { rootMargin: "200px" },
);

export function startCharts() {
  document.addEventListener(PAGE, () => {
    for (const container of document.querySelectorAll("[data-figure]")) {
      visibility.observe(container);
      const stale = drawn.has(container) && drawn.get(container) !== sourceOf(container);
      if (stale && !container.hasAttribute("data-live")) container.setAttribute("data-state", "stale");
    }
    window.clearTimeout(waiting);
    waiting = window.setTimeout(drawNear, DRAW_AFTER_MS);
  });
  document.addEventListener(PART, () => {
    for (const container of document.querySelectorAll("[data-figure]")) visibility.observe(container);
    drawNear();
  });
  document.addEventListener("longhand:theme", () => {
    for (const container of document.querySelectorAll("[data-figure]")) drawn.delete(container);
    drawNear();
  });
}

function drawNear() {
  for (const container of document.querySelectorAll("[data-figure]")) if (near.has(container)) void draw(container);
}

/** @param {Element} container */
async function draw(container) {
  const source = sourceOf(container);
  if (!source || drawn.get(container) === source) return;
  const again = container.hasAttribute("data-state");
  drawn.set(container, source);
  if (!again) container.setAttribute("data-state", "loading");
  try {
    const plotly = await load();
    if (drawn.get(container) !== source) return;
    const figure = /** @type {Figure} */ (coloured(JSON.parse(source), container));
    await plotly.react(container, figure.data, themed(figure.layout, container), { displayModeBar: false, responsive: true, ...figure.config });
    container.setAttribute("data-state", container.hasAttribute("data-live") || drawn.get(container) === sourceOf(container) ? "drawn" : "stale");
  } catch (error) {
    drawn.delete(container);
    container.setAttribute("data-state", "failed");
    throw error;
  }
}

/** The JSON beside a container. @param {Element} container */
function sourceOf(container) {
  const name = container.getAttribute("data-figure");
  const beside = container.nextElementSibling?.matches("script[type='application/json']") ? container.nextElementSibling : null;
  const source = beside ?? document.querySelector(`script[type="application/json"][data-figure-of="${CSS.escape(name ?? "")}"]`);
  return source?.textContent ?? "";
}

/**
 * The library, once. Its own style rules are a stylesheet of the page (`#plotly.js-style-global.no-inline-styles`), as the
 * policy forbids it to insert them; without them it draws heat maps smoothed, which is wrong, and says nothing.
 * @returns {Promise<Plotly>}
 */
function load() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = document.querySelector("[data-figure][data-space]") ? SPACE : FLAT;
    script.addEventListener("load", () => resolve(/** @type {{Plotly: Plotly}} */ (/** @type {unknown} */ (window)).Plotly));
    script.addEventListener("error", () => {
      loading = null;
      reject(new Error("the chart library could not be loaded"));
    });
    document.head.append(script);
  });
  return loading;
}

/** The figure's layout with the theme's text, lines and faces. @param {Record<string, unknown>} layout @param {Element} container */
function themed(layout, container) {
  const style = getComputedStyle(container);
  const ink = resolved(container, "--ink");
  const soft = resolved(container, "--soft");
  const line = resolved(container, "--line");
  /** @type {Record<string, unknown>} */
  const result = {
    ...layout,
    paper_bgcolor: "transparent",
    plot_bgcolor: "transparent",
    font: { family: style.fontFamily, size: 13, color: ink, ...object(layout.font) },
    hoverlabel: { bgcolor: resolved(container, "--raised"), bordercolor: line, font: { family: style.fontFamily, color: ink }, ...object(layout.hoverlabel) },
  };
  for (const key of Object.keys(layout)) {
    if (/^[xy]axis\d*$/.test(key)) result[key] = { gridcolor: line, zerolinecolor: soft, linecolor: soft, tickcolor: soft, ...object(layout[key]) };
  }
  if (layout.scene) result.scene = inSpace(object(layout.scene), line, soft);
  return result;
}

/** A scene in three dimensions with its axes in the theme's lines. @param {Record<string, unknown>} scene @param {string} line @param {string} soft */
function inSpace(scene, line, soft) {
  const axes = ["xaxis", "yaxis", "zaxis"].map((name) => [name, { gridcolor: line, zerolinecolor: line, linecolor: soft, tickcolor: soft, showbackground: false, ...object(scene[name]) }]);
  return { ...scene, ...Object.fromEntries(axes) };
}

/** Colours named as the site's custom properties, `var(--pos)`, become the present theme's. @param {unknown} part @param {Element} container @returns {unknown} */
function coloured(part, container) {
  if (Array.isArray(part)) return typeof part[0] === "number" && typeof part.at(-1) === "number" ? part : part.map((inner) => coloured(inner, container));
  if (part && typeof part === "object") return Object.fromEntries(Object.entries(part).map(([name, inner]) => [name, coloured(inner, container)]));
  const property = typeof part === "string" ? /^var\((--[\w-]+)\)$/.exec(part)?.[1] : undefined;
  return property ? resolved(container, property) : part;
}

/** @param {unknown} value @returns {Record<string, unknown>} */
function object(value) {
  return value && typeof value === "object" ? /** @type {Record<string, unknown>} */ (value) : {};
}

/** A custom property as the colour it comes to in the present theme. @param {Element} container @param {string} name */
function resolved(container, name) {
  const probe = document.createElement("span");
  probe.hidden = true;
  probe.style.color = `var(${name})`;
  container.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
