// @ts-check
/** The API's documentation, drawn by Swagger UI from this site's own description of itself. */

const { SwaggerUIBundle } = /** @type {{ SwaggerUIBundle: (options: object) => unknown }} */ (/** @type {unknown} */ (window));

const dark = matchMedia("(prefers-color-scheme: dark)");

/** Swagger UI's dark sheet wherever the site is dark: as the reader chose, else as the system says. */
function follow() {
  const root = document.documentElement;
  root.classList.toggle("dark-mode", root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
}

follow();
document.addEventListener("longhand:theme", follow);

SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger",
  deepLinking: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  defaultModelsExpandDepth: 0,
});
