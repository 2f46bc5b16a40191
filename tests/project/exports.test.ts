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

describe("the README of @llm-meter/core", () => {
  const text = readFileSync(`${root}core/README.md`, "utf8");

  it("lists every entry of the package, and links to nothing outside it", () => {
    const entries = Object.keys(publicEntries()).filter((name) => name.startsWith("./core/"));
    const links = entries.map((name) => `${name.replace("./core/", "")}/mod.d.ts`);
    const linked = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, target]) => target as string);
    const local = linked.filter((target) => !target.startsWith("https://"));
    assert.deepEqual(local, [...links.sort(), "LICENSE"]);
  });

  it("has the example of the package's own description", () => {
    const example = /```ts\n([\s\S]*?)```/.exec(text)?.[1]?.replace("@llm-meter/core", "./mod.ts");
    const described = readFileSync(`${root}core/mod.ts`, "utf8").replaceAll(/^ \* ?/gm, "");
    assert.ok(example !== undefined && described.includes(example));
  });
});

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
