import { join } from "node:path";

/** The path of the configuration in meter's home. */
export const configFile = (home: string) => join(home, "config.toml");
