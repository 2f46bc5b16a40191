import { Agent, fetch } from "undici";

/** Imported when it is needed. `import("undici")` has no names in a bundle, because the package is CommonJS. */
export const undici = { Agent, fetch };
