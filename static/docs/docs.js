// @ts-check
/** The API's documentation, drawn by Swagger UI from this site's own description of itself. */

const { SwaggerUIBundle } = /** @type {{ SwaggerUIBundle: (options: object) => unknown }} */ (/** @type {unknown} */ (window));

SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger",
  deepLinking: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  defaultModelsExpandDepth: 0,
});
