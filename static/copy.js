// @ts-check
/** Takes things away: text to the clipboard, the scene as SVG or PNG. */
import { setIcon } from "./icon.js";
import { picture, pictureName, raster } from "./picture.js";
import { announce, fail } from "./progress.js";
import { PAINTED } from "./visit.js";

const THANKS_MS = 1600;

export function startCopy() {
  document.addEventListener(PAINTED, () => {
    for (const control of document.querySelectorAll("[data-action=copy]")) control.removeAttribute("hidden");
    const drawn = picture() !== null;
    for (const control of document.querySelectorAll("[data-action=svg], [data-action=png]")) control.toggleAttribute("hidden", !drawn);
  });
  document.addEventListener("click", (event) => {
    const control = event.target instanceof Element ? event.target.closest("[data-action]") : null;
    const act = ACTIONS[control?.getAttribute("data-action") ?? ""];
    if (!control || !act) return;
    event.preventDefault();
    void act(control);
  });
}

/** @type {Record<string, (control: Element) => Promise<void>>} */
const ACTIONS = {
  "copy-link": (control) => copy(control, new URL(control.getAttribute("data-copy") ?? "", window.location.href).href),
  copy: (control) => copy(control, control.closest(".recipe")?.querySelector("code")?.textContent ?? ""),
  svg: async () => {
    const drawn = picture();
    if (drawn) save(new Blob([await drawn.text()], { type: "image/svg+xml" }), pictureName("svg"));
  },
  png: async () => {
    const drawn = picture();
    if (drawn) save(await raster(drawn), pictureName("png"));
  },
};

/** @param {Element} control @param {string} text */
async function copy(control, text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    if (!copyBySelection(text)) {
      fail("The browser does not let this page use the clipboard; select the text and copy it by hand.", () => void copy(control, text));
      return;
    }
  }
  announce("Copied");
  control.classList.add("copied");
  setIcon(control, "check");
  window.setTimeout(() => {
    control.classList.remove("copied");
    setIcon(control, "copy");
  }, THANKS_MS);
}

/** For pages without a secure context, where there is no clipboard interface. @param {string} text */
function copyBySelection(text) {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "visually-hidden";
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  return done;
}

/** @param {Blob} blob @param {string} name */
function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
