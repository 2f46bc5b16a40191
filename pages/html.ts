import type { HtmlEscapedString } from "hono/utils/html";

/** Escaped HTML, as returned by hono's `html`. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;
