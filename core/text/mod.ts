/**
 * Text measured and cut in UTF-8 bytes, for the caps on stored and uploaded bodies.
 *
 * ```ts
 * import { cutUtf8 } from "./mod.ts";
 *
 * cutUtf8("naïve", 3); // { text: "na", bytes: 2, truncated: true }
 * ```
 *
 * @module
 */
export { csvField } from "./csv-field.ts";
export { type CutText, cutUtf8, utf8Length } from "./cut-utf8.ts";
