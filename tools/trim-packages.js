// Runs at the end of `npm ci` in a clone, as `prepare` of the workspace `tools`. As a script of the root, npm would warn of it where the
// package is installed. Deletes parts of packages that are never loaded, and the project's Node if the system's is new enough. No
// syntax here that an old Node lacks.
import { lstatSync, readdirSync, rmSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../node_modules/", import.meta.url));
// A worktree may link to another checkout's packages, which are not this one's to delete.
if (lstatSync(folder.slice(0, -1)).isSymbolicLink()) process.exit(0);
const remove = (path) => rmSync(folder + path, { recursive: true, force: true });

/** The major version of the project's Node. */
const PROJECT_NODE_MAJOR = 24;

const nodePackages = readdirSync(folder).filter((name) => /^node-(bin-)?(darwin|linux|win)-/.test(name));
// Of the Node that runs npm: npm runs this file on the project's Node, which it puts first on the path.
const { npm_config_user_agent: agent = "", npm_node_execpath: npmNode = "" } = process.env;
const major = Number(/node\/v(\d+)/.exec(agent)?.[1] ?? 0);
// An npm script runs npm on the project's Node too, whatever the system's Node is.
const keepNode = npmNode.startsWith(folder) || major < PROJECT_NODE_MAJOR;
for (const name of nodePackages) {
  // 67 MB of headers, for compiling addons.
  remove(`${name}/include`);
  if (!keepNode) {
    remove(name);
    for (const link of ["node", "node.cmd", "node.ps1"]) remove(`.bin/${link}`);
  }
}
// The CommonJS build, the sources and their tables, 22 MB.
for (const part of ["cjs", "data", "src"]) remove(`gpt-tokenizer/${part}`);
// The sources of the compiled modules, 4 MB. The package comes with better-auth.
remove("zod/src");
// Bun's manual, 8 MB. The package comes with kysely-bun-sqlite.
remove("bun-types/docs");
// Tables that map compiled code to its sources, 15 MB.
for (const file of readdirSync(folder, { recursive: true })) if (file.endsWith(".map")) remove(file);
