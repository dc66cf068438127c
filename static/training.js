// @ts-check
/**
 * The training panel while its run goes on: a few times a second the server's panel takes its place. Its forms are sent
 * from here; those that keep the run bring back the panel alone, the others the page with the new run.
 */
import { morphPart } from "./morph.js";
import { announce } from "./progress.js";
import { PAGE, tellPart, visit } from "./visit.js";

const RENEW_MS = 300;
const RETRY_MS = 2000;
const SAY_MS = 10_000;

let timer = 0;
/** Counts what was asked, so that an answer from before something was pressed is dropped. */
let asked = 0;
let state = "";
let said = 0;

export function startTraining() {
  document.addEventListener("submit", onSubmit);
  document.addEventListener(PAGE, follow);
  document.addEventListener("visibilitychange", follow);
}

function panel() {
  return document.querySelector("#training");
}

/** Renews the panel again and again while its run goes on and is looked at. */
function follow() {
  window.clearTimeout(timer);
  const now = panel();
  tell(now);
  if (now?.getAttribute("data-state") === "running" && !document.hidden) timer = window.setTimeout(renew, RENEW_MS);
}

/** Takes in the panel as the run stands now. */
async function renew() {
  const mine = ++asked;
  window.clearTimeout(timer);
  const url = panel()?.getAttribute("data-panel");
  if (!url) return;
  try {
    const response = await fetch(url, { headers: { Accept: "text/html" } });
    const text = await response.text();
    if (mine !== asked || panel()?.getAttribute("data-panel") !== url) return;
    if (!response.ok) throw new TypeError(`the server answered ${response.status}`);
    show(text);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    if (mine !== asked) return;
    panel()?.setAttribute("data-lost", "");
    timer = window.setTimeout(renew, RETRY_MS);
  }
}

/** @param {string} text a page, or the panel alone */
function show(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html").querySelector("#training");
  const now = panel();
  if (!fresh || !now) return;
  morphPart(now, fresh);
  tellPart();
  follow();
}

/** @param {SubmitEvent} event */
function onSubmit(event) {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.method !== "post" || !form.closest("#training")) return;
  event.preventDefault();
  const pressed = event.submitter;
  const action = (pressed instanceof HTMLButtonElement && pressed.getAttribute("formaction")) || form.getAttribute("action") || "";
  const body = new URLSearchParams();
  for (const [name, value] of new FormData(form, pressed)) if (typeof value === "string") body.append(name, value);
  asked += 1;
  if (/\/(pause|resume|cancel)$/.test(action)) void change(action, body);
  else void visit(new URL(action, window.location.href).href, { body, sent: form });
}

/** Asks something of the run that stays the page's. @param {string} action @param {URLSearchParams} body */
async function change(action, body) {
  panel()?.setAttribute("aria-busy", "true");
  try {
    const response = await fetch(action, { method: "POST", body, redirect: "manual", headers: { Accept: "text/html" } });
    if (response.type === "opaqueredirect") await renew();
    else show(await response.text());
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    panel()?.setAttribute("data-lost", "");
  } finally {
    panel()?.removeAttribute("aria-busy");
  }
}

/** Says where the run is when it begins or comes to rest, and else seldom. @param {Element | null} now */
function tell(now) {
  const fresh = now?.getAttribute("data-state") ?? "";
  const sentence = now?.getAttribute("data-said") ?? "";
  const due = fresh !== state ? state !== "" : fresh === "running" && performance.now() - said > SAY_MS;
  state = fresh;
  if (!due || !sentence) return;
  said = performance.now();
  announce(sentence);
}
