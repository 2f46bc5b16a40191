/**
 * Text cut to so many bytes of UTF-8, for the cap on stored bodies, and fields of CSV.
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
export { type CutText, cutUtf8 } from "./cut-utf8.ts";
