/**
 * Files: the meter's home, replacing a file in one step, reading small files that others may have touched, TOML (read, and
 * edited key by key), and what the folders around a working directory say about its project.
 *
 * ```ts
 * import { meterHome, readTomlFile } from "./mod.ts";
 *
 * const home = meterHome({ METER_HOME: "/tmp/meter" }); // "/tmp/meter"
 * const file = await readTomlFile(`${home}/config.toml`, { maxBytes: 1_048_576 });
 * console.log(file.ok ? file.table : file.reason); // "absent"
 * ```
 *
 * @module
 */
export { editToml, type TomlEdit, type TomlScalar } from "./edit-toml.ts";
export { makeFolder } from "./make-folder.ts";
export { meterHome } from "./meter-home.ts";
export { createProjectFiles, PROJECT_FILE } from "./project-files.ts";
export {
  readSmallFile,
  type SmallFile,
  type SmallFileProblem,
  type SmallFileRules,
} from "./read-small-file.ts";
export { readTomlFile, type TomlFile } from "./read-toml-file.ts";
export { writeFileAtomic } from "./write-file-atomic.ts";
