// @ts-check
/**
 * Charts: the server makes the figure (Plotly's JSON), this draws it when it comes into view and again after every answer.
 * Plotly is loaded only then. Colours that follow the theme are set here; data and scales are the server's.
 */
import { PAGE } from "./visit.js";

const PLOTLY = "/assets/plotly.js-cartesian-dist-min/plotly-cartesian.min.js";
const PLOTLY_RULES = "/static/css/plotly.css";

/**
 * @typedef {{data: object[], layout: Record<string, unknown>, config?: object}} Figure
 * @typedef {{react(container: Element, data: object[], layout: object, config: object): Promise<unknown>}} Plotly
 */

/** @type {Promise<Plotly> | null} */
let loading = null;
/** The figure text each container shows. @type {WeakMap<Element, string>} */
const drawn = new WeakMap();
/** @type {WeakSet<Element>} */
const seen = new WeakSet();

const visibility = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      seen.add(target);
      visibility.unobserve(target);
      void draw(target);
    }
  },
  { rootMargin: "200px" },
);

export function startCharts() {
  document.addEventListener(PAGE, () => {
    for (const container of document.querySelectorAll("[data-figure]")) {
      if (seen.has(container)) void draw(container);
      else visibility.observe(container);
    }
  });
  document.addEventListener("longhand:theme", () => {
    for (const container of document.querySelectorAll("[data-figure]")) {
      drawn.delete(container);
      if (seen.has(container)) void draw(container);
    }
  });
}

/** @param {Element} container */
async function draw(container) {
  const source = sourceOf(container);
  if (!source || drawn.get(container) === source) return;
  drawn.set(container, source);
  container.setAttribute("data-state", "loading");
  try {
    const plotly = await load();
    if (drawn.get(container) !== source) return;
    const figure = /** @type {Figure} */ (coloured(JSON.parse(source), container));
    await plotly.react(container, figure.data, themed(figure.layout, container), { displayModeBar: false, responsive: true, ...figure.config });
    container.setAttribute("data-state", "drawn");
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

/** @returns {Promise<Plotly>} */
function load() {
  loading ??= Promise.all([added(script(PLOTLY)), added(rules(PLOTLY_RULES))]).then(
    () => /** @type {{Plotly: Plotly}} */ (/** @type {unknown} */ (window)).Plotly,
  );
  loading.catch(() => (loading = null));
  return loading;
}

/** @param {string} address */
function script(address) {
  const element = document.createElement("script");
  element.src = address;
  return element;
}

/**
 * Plotly's own style rules, which it may not insert itself under the page's policy: this id and class tell it that they
 * are there. Without them it draws heat maps smoothed, which is wrong, and says nothing.
 * @param {string} address
 */
function rules(address) {
  const element = document.createElement("link");
  element.id = "plotly.js-style-global";
  element.className = "no-inline-styles";
  element.rel = "stylesheet";
  element.href = address;
  return element;
}

/** @param {HTMLElement} element @returns {Promise<void>} */
function added(element) {
  return new Promise((resolve, reject) => {
    element.addEventListener("load", () => resolve());
    element.addEventListener("error", () => reject(new Error("the chart library could not be loaded")));
    document.head.append(element);
  });
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
  return result;
}

/** Colours named as the site's custom properties, `var(--pos)`, become the present theme's. @param {unknown} part @param {Element} container @returns {unknown} */
function coloured(part, container) {
  if (Array.isArray(part)) return typeof part[0] === "number" ? part : part.map((inner) => coloured(inner, container));
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
