import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

/** How many levels of folders below each folder have a line in the map. */
const LEVELS: Readonly<Record<string, number>> = {
  core: 3,
  adapters: 1,
  daemon: 2,
  cloud: 2,
  pages: 1,
  cli: 1,
  tests: 1,
  bench: 1,
  examples: 1,
};

/** Folders that are not part of the source tree. */
const WITHOUT_LINE = new Set(["bench/node_modules"]);

function foldersBelow(folder: string, levels: number): string[] {
  if (levels === 0) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !WITHOUT_LINE.has(join(folder, entry.name)))
    .flatMap(({ name }) => [join(folder, name), ...foldersBelow(join(folder, name), levels - 1)]);
}

const architecture = readFileSync("ARCHITECTURE.md", "utf8");
/** The folders in the first cells of the map's tables. */
const mapped = [...architecture.matchAll(/^\| (`[^|]+\/`) \|/gm)].flatMap(([, cell = ""]) =>
  [...cell.matchAll(/`([^`]+)\/`/g)].map(([, folder]) => folder as string),
);

describe("the map in ARCHITECTURE.md", () => {
  it("has a line for each folder of the source tree", () => {
    const folders = Object.entries(LEVELS).flatMap(([folder, levels]) => [
      folder,
      ...foldersBelow(folder, levels),
    ]);
    assert.ok(folders.length > 100, `only ${folders.length} folders were found`);
    assert.deepEqual(
      folders.filter((folder) => !mapped.includes(folder)),
      [],
    );
  });

  it("names only folders that exist", () => {
    assert.deepEqual(
      mapped.filter((folder) => !existsSync(folder)),
      [],
    );
  });
});
