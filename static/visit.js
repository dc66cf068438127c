// @ts-check
/**
 * The one mechanism: fetch a page of this address and morph the document into it. A later visit cancels an earlier one;
 * only the newest answer is shown.
 */
import { morphDocument } from "./morph.js";
import { announce, begin, end, fail, markStale } from "./progress.js";

/**
 * @typedef {object} Visit
 * @property {"push" | "replace" | "none"} [history] what becomes of the address bar
 * @property {boolean} [typing] the field with focus keeps its text
 * @property {HTMLFormElement | null} [sent] the form this visit sends
 * @property {URLSearchParams} [body] what is posted; the page shown is where that leads
 */

/** Fired on `document` after every answer is in, and once at the start. */
export const PAGE = "longhand:page";
/** Fired after PAGE once the numbers are painted: for what measures the page or can wait for it. */
export const PAINTED = "longhand:painted";

/** Fired when a part of the page has changed by itself: for what draws into it. */
export const PART = "longhand:part";

/** Tells those who draw that a part has changed. */
export function tellPart() {
  document.dispatchEvent(new Event(PART));
}

/** Tells everyone that a page is in: first PAGE, then, after the paint, PAINTED. */
export function tellPage() {
  document.dispatchEvent(new Event(PAGE));
  requestAnimationFrame(() => setTimeout(() => document.dispatchEvent(new Event(PAINTED))));
}

let newest = 0;
let controller = new AbortController();
/** @type {Promise<boolean>} */
let pending = Promise.resolve(true);

/** Resolves once nothing is under way; false if the last visit brought no answer. */
export function settled() {
  return pending;
}

/**
 * Shows the page at `url`; resolves true when it is in, false when it was overtaken, cancelled or failed.
 * @param {string} url
 * @param {Visit} [options]
 */
export function visit(url, options = {}) {
  pending = fetchPage(url, options);
  return pending;
}

/** @param {string} url @param {Visit} options @returns {Promise<boolean>} */
async function fetchPage(url, options) {
  const mine = ++newest;
  const asked = performance.now();
  controller.abort();
  controller = new AbortController();
  const { signal } = controller;
  const retry = () => void visit(url, options);
  markStale();
  begin(() => controller.abort());
  try {
    const response = await fetch(url, { signal, method: options.body ? "POST" : "GET", body: options.body, headers: { Accept: "text/html" } });
    const text = await response.text();
    if (mine !== newest) return false;
    const fetched = new DOMParser().parseFromString(text, "text/html");
    if (!fetched.querySelector("main") || !(response.ok || fetched.querySelector("#stage"))) {
      fail(refusal(response, fetched), retry);
      return false;
    }
    show(fetched, url, options);
    performance.measure("longhand:visit", { start: asked, end: performance.now() });
    return true;
  } catch (error) {
    if (mine !== newest) return false;
    if (signal.aborted) fail("Stopped. What you typed is kept; the dimmed numbers belong to what was there before.", retry);
    else if (error instanceof TypeError) fail("The server cannot be reached. What you typed is kept.", retry);
    else throw error;
    return false;
  }
}

/** @param {Document} fetched @param {string} url @param {Visit} options */
function show(fetched, url, { history = "push", typing = false, sent = null }) {
  const said = document.querySelector("main")?.getAttribute("data-announce");
  morphDocument(fetched, { typing, sent });
  end();
  const address = addressOf(fetched, url);
  if (history === "push" && address !== window.location.href) window.history.pushState(null, "", address);
  else if (history !== "none") window.history.replaceState(null, "", address);
  tellPage();
  const sentence = document.querySelector("main")?.getAttribute("data-announce") ?? "";
  const where = document.querySelector(".transport .where")?.textContent?.replace(/\s+/g, " ").trim() ?? "";
  announce(sentence !== said || !where ? sentence : where);
}

/** The canonical address: of what is in use, also where a field could not be read. @param {Document} fetched @param {string} url */
function addressOf(fetched, url) {
  const canonical = fetched.querySelector("link[rel=canonical]")?.getAttribute("href");
  const asked = new URL(url, window.location.href);
  if (!canonical) return asked.href;
  const address = new URL(canonical, asked);
  return window.location.origin + address.pathname + address.search + asked.hash;
}

/** @param {Response} response @param {Document} fetched */
function refusal(response, fetched) {
  const detail = fetched.querySelector("main .detail")?.textContent?.trim();
  const wait = response.headers.get("Retry-After");
  return `The server answered ${response.status}${detail ? `: ${detail}` : "."} What you typed is kept.${wait ? ` Try again in ${wait} s.` : ""}`;
}
