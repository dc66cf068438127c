// @ts-check
/** What the reader asked for is in sight: the current step in a timeline that scrolls, the stage when it is not beside the text. */
import { PAINTED } from "./visit.js";

const LEAST_PX = 200;
/** The panel that was brought into sight last. @type {string | null} */
let shown = null;

export function startSight() {
  document.addEventListener(PAINTED, reachScrollers);
  window.addEventListener("resize", reachScrollers);
  document.addEventListener(PAINTED, () => {
    showPanel();
    const strip = document.querySelector(".timeline > ol");
    const step = strip?.querySelector("[aria-current=step]");
    if (!strip || !step) return;
    const { left, right, top, bottom } = step.getBoundingClientRect();
    const view = strip.getBoundingClientRect();
    if (left < view.left || right > view.right) strip.scrollLeft += left - view.left - view.width / 3;
    if (top < view.top || bottom > view.bottom) strip.scrollTop += top - view.top - view.height / 3;
  });
}

/** The panel of the current step, where a picture of panels scrolls. */
function showPanel() {
  const flow = document.querySelector(".flow");
  const panel = flow?.querySelector(".panel.now");
  if (!flow || !panel || shown === panel.getAttribute("data-tensor")) return;
  shown = panel.getAttribute("data-tensor");
  const { top, bottom } = panel.getBoundingClientRect();
  const view = flow.getBoundingClientRect();
  if (top < view.top || bottom > view.bottom) flow.scrollTop += top - view.top - LEAST_PX / 4;
}

/** A formula that is wider than its place scrolls, and then the keyboard reaches it. */
function reachScrollers() {
  const formulas = [...document.querySelectorAll(".formula, .equation")];
  const wide = formulas.map((one) => one.scrollWidth > one.clientWidth);
  for (const [at, one] of formulas.entries()) {
    if (wide[at]) one.setAttribute("tabindex", "0");
    else one.removeAttribute("tabindex");
  }
}

/** Scrolls to the stage if it is out of sight, and offers the way back. @param {Element} from the link in the text */
export function showStage(from) {
  const stage = document.querySelector("#stage");
  if (!stage) return;
  const { top, bottom } = stage.getBoundingClientRect();
  if (top <= window.innerHeight - LEAST_PX && bottom >= LEAST_PX) return;
  stage.scrollIntoView({ block: "start" });
  offerReturn(from);
}

/** @param {Element} to */
function offerReturn(to) {
  document.querySelector("button.return")?.remove();
  const button = document.createElement("button");
  button.type = "button";
  button.className = "return";
  button.textContent = "Back to the text";
  const seen = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) close();
  });
  function close() {
    seen.disconnect();
    button.remove();
  }
  button.addEventListener("click", () => {
    close();
    to.scrollIntoView({ block: "center" });
    if (to instanceof HTMLElement) to.focus({ preventScroll: true });
  });
  document.body.append(button);
  seen.observe(to);
}
