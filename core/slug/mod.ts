/**
 * Project slugs: the one spelling under which a project's calls are counted, in reports, in configuration and on the
 * wire. Whatever a header, a folder or a file calls the project goes through `normaliseSlug()` before it is compared
 * or stored.
 *
 * ```ts
 * import { normaliseSlug } from "./mod.ts";
 *
 * normaliseSlug("  My Shop (EU) "); // "my-shop-eu"
 * ```
 *
 * @module
 */
export { MAX_SLUG_LENGTH, normaliseSlug } from "./normalise-slug.ts";
