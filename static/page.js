// @ts-check
/**
 * The entry of every page: follows the page's own links and forms in place (visit.js) and starts the other behaviours.
 * Without it the same links load and the same forms submit.
 */
import { startCharts } from "./charts.js";
import { startCopy } from "./copy.js";
import { startDigits } from "./digits.js";
import { startKeys } from "./keys.js";
import { startLight } from "./light.js";
import { startGrids } from "./marks/grid.js";
import { startMaths } from "./maths.js";
import { isTextField } from "./morph.js";
import { startPaint } from "./marks/paint.js";
import { startPlay } from "./play.js";
import { startPredict } from "./predict.js";
import { markStale } from "./progress.js";
import { showStage, startSight } from "./sight.js";
import { startTraining } from "./training.js";
import { settled, tellPage, visit } from "./visit.js";

/** The stage's form has text that no answer has taken in yet. */
let unsent = false;

/** @param {MouseEvent} event */
function onClick(event) {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
  if (!link || !isOwn(link)) return;
  event.preventDefault();
  void follow(link);
}

/** A link to another state of this page. @param {Element} link */
function isOwn(link) {
  if (link.hasAttribute("download") || link.hasAttribute("target") || link.hasAttribute("data-copy")) return false;
  if (!document.querySelector("#stage") || !link.closest("main, .bar .tools")) return false;
  const href = link.getAttribute("href") ?? "";
  const url = new URL(href, window.location.href);
  return !href.startsWith("#") && url.origin === window.location.origin && url.pathname === window.location.pathname;
}

/** Follows a link, after the page has taken in what is typed: the link then carries it. @param {Element} link */
async function follow(link) {
  if (unsent) {
    const taken = await (sendForms() ?? settled());
    if (!taken || !link.isConnected) return;
  }
  const url = new URL(link.getAttribute("href") ?? "", window.location.href);
  if (!(await visit(url.href))) return;
  const goal = url.hash ? document.querySelector(url.hash) : null;
  if (goal && !goal.contains(document.activeElement)) goal.scrollIntoView({ block: "start" });
  else if (link.classList.contains("show")) showStage(link);
  else if (document.activeElement !== document.body) document.activeElement?.scrollIntoView({ block: "nearest" });
}

/** @param {Event} event */
function onInput(event) {
  const field = event.target;
  if (!(field instanceof HTMLElement)) return;
  const form = field.closest("form");
  if (form?.id !== "forms") return;
  unsent = true;
  markStale();
  void send(form, null, isTextField(field) ? "replace" : "push");
}

/** A choice among settings is sent as it is made; what is typed waits for Enter or the button. @param {Event} event */
function onChange(event) {
  const field = event.target;
  if (field instanceof HTMLSelectElement && field.form?.matches("form.settings")) field.form.requestSubmit();
}

/** @param {SubmitEvent} event */
function onSubmit(event) {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.method !== "get" || !form.closest("main")) return;
  const action = new URL(form.getAttribute("action") || window.location.href, window.location.href);
  if (action.pathname !== window.location.pathname || !document.querySelector("#stage")) return;
  event.preventDefault();
  if (form.id !== "forms" && unsent) {
    const submitter = event.submitter;
    void (sendForms() ?? settled()).then((taken) => (taken ? send(form, submitter, "push") : false));
    return;
  }
  void send(form, event.submitter, "push");
}

/** Sends the stage's form as it stands. */
function sendForms() {
  const form = document.querySelector("form#forms");
  return form instanceof HTMLFormElement ? send(form, null, "replace") : null;
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLElement | null} submitter
 * @param {"push" | "replace"} history
 */
async function send(form, submitter, history) {
  const url = new URL(form.getAttribute("action") || window.location.pathname, window.location.href);
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form, submitter)) if (typeof value === "string") query.append(name, value);
  url.search = query.toString();
  url.hash = "";
  const taken = await visit(url.href, { history, typing: submitter === null, sent: form });
  if (taken && form.id === "forms") unsent = false;
  return taken;
}

document.addEventListener("click", onClick);
document.addEventListener("input", onInput);
document.addEventListener("change", onChange);
document.addEventListener("submit", onSubmit);
window.addEventListener("popstate", () => {
  if (!document.querySelector("#stage")) return;
  unsent = false;
  void visit(window.location.href, { history: "none" });
});

startCopy();
startDigits();
startKeys();
startLight();
startGrids();
startPaint();
startPlay();
startPredict();
startSight();
startMaths();
startCharts();
startTraining();
tellPage();
