import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { it } from "node:test";
import { listStatementSites, storeFiles } from "../../tools/reached-statements.ts";

it("listStatementSites() separates calls that ran from those in branches and functions that did not", {
  skip: process.versions.bun !== undefined || "Deno" in globalThis ? "V8's coverage of Node" : false,
}, () => {
  const folder = mkdtempSync(join(tmpdir(), "meter-sites-"));
  const [file, coverage] = [join(folder, "store.ts"), join(folder, "coverage")];
  writeFileSync(
    file,
    `interface Query { execute(): void }
const query: Query = { execute() {} };
function read(isAll: boolean): void {
  if (isAll) query.execute();
  else query.execute();
}
function unused(): void { query.execute(); }
read(process.argv.length > 0);
export { unused };
`,
  );
  const env = { ...process.env, NODE_V8_COVERAGE: coverage };
  assert.equal(spawnSync(process.execPath, [file], { env }).status, 0);
  assert.deepEqual(
    listStatementSites([file], coverage).map(({ line, isReached }) => [line, isReached]),
    [
      [4, true],
      [5, false],
      [7, false],
    ],
  );
  rmSync(folder, { recursive: true, force: true });
});

it("storeFiles() lists the store without its migrations", () => {
  const files = storeFiles();
  assert.ok(files.includes("cloud/store/ingest.ts") && files.includes("cloud/store/reads/traces.ts"));
  assert.ok(files.every((file) => !file.includes("migrations")));
});
