import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, it } from "node:test";
import { publicDeclarations, referencePages } from "../../tools/api-reference.ts";
import { exportedNames, publicEntries } from "../../tools/public-entries.ts";
import { readSource, root } from "../project/source-files.rig.ts";

describe("docs/api/", () => {
  it("is what the sources say; `npm run exports:write` rewrites it", () => {
    const pages = referencePages();
    assert.deepEqual(readdirSync(`${root}docs/api`).sort(), [...pages.keys()].sort());
    for (const [file, text] of pages) assert.equal(readSource(`docs/api/${file}`), text, file);
  });

  it("has examples that import the entries of the packages, so that they can be copied", () => {
    const entries = Object.keys(publicEntries());
    const meter = entries.map((entry) => `@llm-meter/meter${entry.slice(1)}`);
    const core = entries
      .filter((entry) => entry === "." || entry.startsWith("./core/"))
      .map((entry) => `@llm-meter/core${entry.slice(1).replace("/core", "")}`);
    for (const [file, text] of referencePages()) {
      for (const [, name = ""] of text.matchAll(/^import .* from "([^"]+)"/gm))
        assert.ok(name.startsWith("node:") || [...meter, ...core].includes(name), `${file}: ${name}`);
      if (file !== "README.md") assert.match(text, /^import .* from "@llm-meter\//m, file);
    }
  });

  it("has every public name, with a sentence from its doc comment and a signature", () => {
    for (const [entry, source] of Object.entries(publicEntries())) {
      const declarations = publicDeclarations(source.slice(2));
      const names = exportedNames(source).map((name) => name.replace("type ", ""));
      assert.deepEqual(declarations.map(({ name }) => name).sort(), names.sort(), entry);
      for (const { name, summary, signature } of declarations) {
        assert.match(summary ?? "", /^[A-Z`].*\S$/, `${entry}: ${name} has no doc comment`);
        assert.match(signature, /^(async function|function|const|class|interface|type|export \*)\s/, name);
      }
    }
  });
});
