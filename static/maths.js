// @ts-check
/** Formulas that the server had no MathML for are set here, by Temml, with their LaTeX in an annotation. */
import { PAGE } from "./visit.js";

const TEMML = "/assets/temml/dist/temml.mjs";

export function startMaths() {
  document.addEventListener(PAGE, () => void setFormulas());
}

async function setFormulas() {
  const waiting = [...document.querySelectorAll("[data-tex]")].filter((element) => !element.querySelector("math"));
  if (!waiting.length) return;
  /** @type {{default: typeof import("temml").default}} */
  const { default: temml } = await import(TEMML);
  for (const element of waiting) {
    if (!(element instanceof HTMLElement) || !element.isConnected) continue;
    const displayMode = element.hasAttribute("data-display");
    try {
      temml.render(element.dataset.tex ?? "", element, { displayMode, annotate: true, throwOnError: true });
    } catch (error) {
      // The words that stand there already say it; a formula we cannot set must not take the page with it.
      console.warn(`formula not set: ${element.dataset.tex}`, error);
    }
  }
}
