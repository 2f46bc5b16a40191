import { join } from "node:path";

/** The folder of a home for copies of databases that are in use. */
export const scratchFolder = (home: string): string => join(home, "import");
