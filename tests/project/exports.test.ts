import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { version } from "../../cli/version.ts";
import { npmExports, publicEntries, publicNames } from "../../tools/public-entries.ts";
import { root } from "./source-files.ts";

const read = (file: string) => JSON.parse(readFileSync(`${root}${file}`, "utf8"));

describe("the manifests", () => {
  it("list every public entry, without wildcards, the same in both", () => {
    assert.deepEqual(read("deno.json").exports, publicEntries());
    assert.deepEqual(read("package.json").exports, npmExports());
  });

  it("say one version", () => {
    assert.deepEqual([read("package.json").version, read("deno.json").version], [version, version]);
  });

  it("export the public names that are agreed on; `npm run exports:write` writes them down anew", () => {
    assert.equal(publicNames(), readFileSync(`${root}tests/project/public-names.txt`, "utf8"));
  });
});
