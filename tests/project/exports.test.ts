import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { version } from "../../cli/program/version.ts";
import {
  exportedNames,
  MAX_PUBLIC_NAMES,
  npmExports,
  publicEntries,
  publicNames,
} from "../../tools/public-entries.ts";
import { root } from "./source-files.rig.ts";

const read = (file: string) => JSON.parse(readFileSync(`${root}${file}`, "utf8"));

describe("the manifests", () => {
  it("list every public entry, without wildcards, the same in both", () => {
    assert.deepEqual(read("deno.json").exports, publicEntries());
    assert.deepEqual(read("package.json").exports, npmExports());
  });

  it("state the same version", () => {
    assert.deepEqual([read("package.json").version, read("deno.json").version], [version, version]);
  });

  it("export the public names that are agreed on; `npm run exports:write` rewrites them", () => {
    assert.equal(publicNames(), readFileSync(`${root}tests/project/public-names.txt`, "utf8"));
  });

  it(`export at most ${MAX_PUBLIC_NAMES} names`, () => {
    const count = Object.values(publicEntries()).flatMap(exportedNames).length;
    assert.ok(count > 0 && count <= MAX_PUBLIC_NAMES, String(count));
  });
});
