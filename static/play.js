// @ts-check
/** Play and pause through the timeline, at a speed of the reader's. Each step is the "forward" link, followed. */
import { setIcon } from "./icon.js";
import { PAGE, settled } from "./visit.js";

const STEP_MS = 1400;

let playing = false;
let timer = 0;

export function startPlay() {
  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    if (target?.closest("[data-action=play]")) toggle();
    else if (playing && event.isTrusted && target?.closest("a, button, input, select, textarea")) pause();
  });
  document.addEventListener("input", (event) => {
    if (!(event.target instanceof Element && event.target.matches("[data-action=speed]"))) pause();
  });
  document.addEventListener("keydown", (event) => {
    if (playing && ["ArrowLeft", "ArrowRight", "Home", "End", "Escape"].includes(event.key)) pause();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) pause();
  });
  document.addEventListener(PAGE, () => {
    for (const control of document.querySelectorAll(".transport [data-action=play], .transport .speed")) control.removeAttribute("hidden");
    draw();
  });
}

function toggle() {
  if (playing) pause();
  else play();
}

function play() {
  playing = true;
  draw();
  if (!press("forward")) press("start");
  next();
}

function pause() {
  playing = false;
  window.clearTimeout(timer);
  draw();
}

function next() {
  window.clearTimeout(timer);
  timer = window.setTimeout(async () => {
    const arrived = await settled();
    if (!playing) return;
    if (arrived && press("forward")) next();
    else pause();
  }, STEP_MS / speed());
}

/** Follows a link of the transport; false at the end of the timeline. @param {string} action */
function press(action) {
  const link = document.querySelector(`.transport [data-action=${action}][href]`);
  if (!(link instanceof HTMLElement)) return false;
  link.click();
  return true;
}

function speed() {
  const select = document.querySelector("[data-action=speed]");
  return select instanceof HTMLSelectElement ? Number(select.value) || 1 : 1;
}

function draw() {
  const button = document.querySelector(".transport [data-action=play]");
  if (!button) return;
  button.setAttribute("aria-pressed", String(playing));
  setIcon(button, playing ? "pause" : "play");
}
