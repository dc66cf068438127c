// @ts-check
/**
 * The theme: the system's preference unless the reader chose one. Loaded as a plain blocking script in the head, so that
 * the page is never painted in the wrong theme; the switch (`[data-action=theme]`) goes system, light, dark.
 */
(() => {
  const KEY = "longhand.theme";
  const ORDER = /** @type {const} */ (["system", "light", "dark"]);
  const root = document.documentElement;

  /** @returns {(typeof ORDER)[number]} */
  function chosen() {
    try {
      const stored = localStorage.getItem(KEY);
      return stored === "light" || stored === "dark" ? stored : "system";
    } catch {
      return "system"; // storage may be switched off
    }
  }

  /** @param {(typeof ORDER)[number]} theme */
  function apply(theme) {
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
    for (const button of document.querySelectorAll("[data-action=theme]")) {
      button.setAttribute("aria-label", `Theme: ${theme}`);
      button.setAttribute("title", `Theme: ${theme}`);
      button.querySelector("use")?.setAttribute("href", `/static/icons.svg#${{ system: "theme", light: "sun", dark: "moon" }[theme]}`);
    }
  }

  /** @param {(typeof ORDER)[number]} theme */
  function choose(theme) {
    try {
      if (theme === "system") localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, theme);
    } catch {
      // the choice then lasts as long as the page
    }
    apply(theme);
    document.dispatchEvent(new Event("longhand:theme"));
  }

  apply(chosen());
  document.addEventListener("DOMContentLoaded", () => {
    let theme = chosen();
    apply(theme);
    for (const button of document.querySelectorAll("[data-action=theme]")) {
      button.removeAttribute("hidden");
      button.addEventListener("click", () => {
        theme = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length];
        choose(theme);
      });
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new Event("longhand:theme")));
})();
