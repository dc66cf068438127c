// @ts-check
/**
 * Formulas at build time: reads a JSON list of LaTeX from standard input, writes `{LaTeX: MathML}` to standard output,
 * sorted, each with its LaTeX in an annotation. `make maths` runs it; pages without scripts then have real formulas.
 */
import { readFileSync } from "node:fs";
import temml from "../../node_modules/temml/dist/temml.mjs";

/** @type {string[]} */
const formulas = JSON.parse(readFileSync(0, "utf8"));
const built = Object.fromEntries(
  [...new Set(formulas)].sort().map((tex) => [tex, temml.renderToString(tex, { annotate: true, throwOnError: true })]),
);
process.stdout.write(`${JSON.stringify(built, null, 1)}\n`);
