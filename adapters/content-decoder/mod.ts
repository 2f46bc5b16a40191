/**
 * Decodes content encodings on a copy of a body. Implements the port `core/ports/content-decoder.ts`.
 *
 * ```ts
 * import { gzipSync } from "node:zlib";
 * import { createZlibDecoder } from "./mod.ts";
 *
 * const decoder = createZlibDecoder("gzip", {
 *   bytes: (bytes) => console.log(new TextDecoder().decode(bytes)), // "hello"
 *   ended: (how) => console.log(how), // "whole"
 * });
 * decoder?.push(gzipSync("hello"));
 * decoder?.end();
 * ```
 */
export { createZlibMessageInflater } from "./message-inflater.ts";
export { createZlibDecoder } from "./zlib.ts";
