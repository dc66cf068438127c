// @ts-check
/**
 * Turns the document into a fetched page of the same address, keeping what the server cannot know: the caret, what is
 * typed but not sent, which details are open, what scripts have drawn.
 */
import { Idiomorph } from "/assets/idiomorph/dist/idiomorph.esm.js";

const TEXT_FIELDS = "input:not([type=checkbox], [type=radio], [type=range], [type=submit], [type=hidden]), textarea";

/** Parts that are compared whole, and left alone where nothing in them differs. */
const WHOLE_PARTS = "p, h2, h3, ul, ol, dl, table, tr, li, svg, g, figure, section, script, .formula, .exercise";

/** Parts that may be out of sight: the picture's other layout, what is in closed details. */
const UNSEEN = "svg.picture, details:not([open]) > :not(summary)";

const FIELDS = "input, select, textarea";

/** @param {Element | null} element */
export function isTextField(element) {
  return Boolean(element?.matches(TEXT_FIELDS));
}

/**
 * @param {Document} fetched a whole page
 * @param {{typing?: boolean, sent?: HTMLFormElement | null}} [options]
 *   typing: the field with focus is newer than the answer, so it keeps its text;
 *   sent: the form that was sent, whose fields take the answer's values (other forms keep what is not sent yet)
 */
export function morphDocument(fetched, { typing = false, sent = null } = {}) {
  const main = required(document, "main");
  const fresh = required(fetched, "main");
  const focused = document.activeElement;
  const place = focused && focused !== document.body ? describe(focused) : null;
  const unseen = new Set([...main.querySelectorAll(UNSEEN)].filter((part) => !part.checkVisibility() && !part.querySelector(FIELDS)));

  Idiomorph.morph(main, fresh, { morphStyle: "outerHTML", ignoreActiveValue: typing && isTextField(focused), callbacks: keeping(sent, unseen) });
  const tools = document.querySelector(".bar .tools");
  const freshTools = fetched.querySelector(".bar .tools");
  if (tools && freshTools) {
    Idiomorph.morph(tools, freshTools, { callbacks: { beforeAttributeUpdated: (name, element) => !isKept(name, element, sent) } });
  }
  document.title = fetched.title;
  for (const rel of ["canonical", "alternate"]) {
    const href = fetched.querySelector(`link[rel=${rel}]`)?.getAttribute("href");
    if (href) document.querySelector(`link[rel=${rel}]`)?.setAttribute("href", href);
  }
  if (place && (document.activeElement === document.body || document.activeElement === null)) refocus(place);
}

/**
 * Turns one part of the page into another state of it, as it would be turned with the page.
 * @param {Element} before @param {Element} after
 */
export function morphPart(before, after) {
  const focused = document.activeElement;
  const place = focused && before.contains(focused) ? describe(focused) : null;
  Idiomorph.morph(before, after, { morphStyle: "outerHTML", callbacks: keeping(null) });
  if (place && (document.activeElement === document.body || document.activeElement === null)) refocus(place);
}

/** What a morph leaves alone. @param {HTMLFormElement | null} sent @param {Set<Element>} [unseen] */
function keeping(sent, unseen = new Set()) {
  return {
    beforeNodeMorphed: (/** @type {Node} */ before, /** @type {Node} */ after) => {
      if (!isElement(before) || !isElement(after)) return true;
      if (unseen.has(before)) return replace(before, after);
      return !isLocal(before, after) && !isSame(before, after) && !isUnasked(before, after, sent);
    },
    beforeAttributeUpdated: (/** @type {string} */ name, /** @type {Element} */ element) => !isKept(name, element, sent),
  };
}

/** What scripts own: never touched by the answer. @param {Element} before @param {Element} after */
function isLocal(before, after) {
  if (before.hasAttribute("data-local")) return after.hasAttribute("data-local");
  if (before.hasAttribute("data-figure") && before.getAttribute("data-figure") === after.getAttribute("data-figure")) {
    before.setAttribute("aria-label", after.getAttribute("aria-label") ?? "");
    return true;
  }
  const tex = before.getAttribute("data-tex");
  return tex !== null && tex === after.getAttribute("data-tex") && before.querySelector("math") !== null;
}

/** Takes another's place whole, for what nobody sees: there is no focus and no transition to keep. @param {Element} before @param {Element} after */
function replace(before, after) {
  for (const { name } of [...before.attributes]) if (!after.hasAttribute(name)) before.removeAttribute(name);
  for (const { name, value } of after.attributes) before.setAttribute(name, value);
  before.replaceChildren(...after.childNodes);
  return false;
}

/** Nothing to do below here. Fields are looked at one by one: what they hold is not in their attributes. @param {Element} before @param {Element} after */
function isSame(before, after) {
  return before.matches(WHOLE_PARTS) && before.isEqualNode(after) && !before.querySelector(FIELDS);
}

/**
 * Settings that are as they were for the server: what was chosen meanwhile and is not sent yet stays.
 * @param {Element} before @param {Element} after @param {HTMLFormElement | null} sent
 */
function isUnasked(before, after, sent) {
  return before.matches("form.settings") && before !== sent && before.isEqualNode(after);
}

/** @param {string} name @param {Element} element @param {HTMLFormElement | null} sent */
function isKept(name, element, sent) {
  if (name === "tabindex") return element.closest("[data-grid]") !== null; // keys.js
  if (name === "open") return element.localName === "details" || element.localName === "dialog";
  if (element.hasAttribute("data-action")) {
    return name === "hidden" || (element.getAttribute("data-action") === "theme" && ["aria-label", "title"].includes(name));
  }
  if (name === "href" && element.localName === "use") return element.closest("[data-action=theme]") !== null;
  if (name === "value" && (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement)) {
    return isUnsent(element.form, sent) && element.value !== element.defaultValue;
  }
  if (name === "checked" && element instanceof HTMLInputElement) {
    return isUnsent(element.form, sent) && element.checked !== element.defaultChecked;
  }
  return false;
}

/** @param {HTMLFormElement | null} form @param {HTMLFormElement | null} sent */
function isUnsent(form, sent) {
  return form !== null && form !== sent && form.id !== "forms";
}

/**
 * Ways to find the same thing again, nearest first: itself, then the parts that hold it (what was pressed may be gone).
 * @param {Element} element
 */
function describe(element) {
  const holders = [];
  for (let one = /** @type {Element | null} */ (element); one; one = one.parentElement) if (one.id) holders.push(`#${CSS.escape(one.id)}`);
  const attribute = ["data-cell", "data-step", "data-action", "data-view", "name", "href"].find((name) => element.hasAttribute(name));
  if (element.id || !attribute) return holders;
  const self = `${element.localName}[${attribute}="${CSS.escape(element.getAttribute(attribute) ?? "")}"]`;
  return [holders.length ? `${holders[0]} ${self}` : self, ...holders];
}

/** @param {string[]} selectors */
function refocus(selectors) {
  for (const selector of selectors) {
    for (const element of document.querySelectorAll(selector)) {
      if (!element.checkVisibility() || !(element instanceof HTMLElement || element instanceof SVGElement)) continue;
      element.focus({ preventScroll: true });
      if (document.activeElement === element) return;
      if (!element.matches("section, form, main, #scene, #results")) continue;
      element.tabIndex = -1;
      element.focus({ preventScroll: true });
      return;
    }
  }
}

/** @param {Node} node @returns {node is Element} */
function isElement(node) {
  return node.nodeType === Node.ELEMENT_NODE;
}

/** @param {ParentNode} within @param {string} selector */
function required(within, selector) {
  const element = within.querySelector(selector);
  if (!element) throw new Error(`expected a page with <${selector}>; got none`);
  return element;
}
