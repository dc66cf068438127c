// @ts-check
/**
 * Predict first: the server hides the results and marks the guess; here the guess gets the focus when it is asked for, and
 * the verdict is read out.
 */
import { announce } from "./progress.js";
import { PAGE } from "./visit.js";

let before = "";

export function startPredict() {
  document.addEventListener(PAGE, () => {
    const stage = document.querySelector("#stage");
    const now = stage?.getAttribute("data-predict") ?? "";
    const verdict = stage?.querySelector(".results .verdict, .predict .verdict, .verdict:not(.exercise *)");
    if (now === "asking" && before !== "asking") {
      const guess = stage?.querySelector("form.predict input[name=guess]");
      if (guess instanceof HTMLInputElement && document.activeElement?.closest(".tools, form.predict")) guess.focus();
    }
    if (now === "answered" && verdict?.textContent) announce(verdict.textContent.replace(/\s+/g, " ").trim());
    before = now;
  });
}
