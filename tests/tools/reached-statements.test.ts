import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { it } from "node:test";
import { listStatementSites, markStatementSites, storeFiles } from "../../tools/reached-statements.ts";

it("listStatementSites() separates calls that ran from those in branches and functions that did not", {
  skip: process.versions.bun !== undefined || "Deno" in globalThis ? "a program of Node" : false,
}, () => {
  const folder = mkdtempSync(join(tmpdir(), "meter-sites-"));
  const [file, marked] = [join(folder, "store.ts"), join(folder, "marked.ts")];
  const source = `interface Query { execute(...rest: number[]): void }
const query: Query = { execute(...rest) { if (rest.join() !== "" && rest.join() !== "1,2") throw new Error(rest.join()); } };
function read(isAll: boolean): void {
  if (isAll) query.execute();
  else query.execute();
}
function unused(): void { query.execute(); }
read(process.argv.length > 0);
query.execute(1, 2);
export { unused };
`;
  writeFileSync(file, source);
  const reach = `import { appendFileSync } from "node:fs";
globalThis.reachStatement = (site) => (appendFileSync(${JSON.stringify(join(folder, "1.reached"))}, site + "\\n"), []);
`;
  writeFileSync(marked, `${reach}${markStatementSites(source, file)}`);
  assert.equal(spawnSync(process.execPath, [marked]).status, 0);
  assert.deepEqual(
    listStatementSites([file], folder).map(({ line, isReached }) => [line, isReached]),
    [
      [4, true],
      [5, false],
      [7, false],
      [9, true],
    ],
  );
  rmSync(folder, { recursive: true, force: true });
});

it("storeFiles() lists the store without its migrations", () => {
  const files = storeFiles();
  assert.ok(files.includes("cloud/store/ingest.ts") && files.includes("cloud/store/reads/traces.ts"));
  assert.ok(files.every((file) => !file.includes("migrations")));
});
