import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, it } from "node:test";
import { readSource, root, sourceFiles } from "../project/source-files.rig.ts";

/** npx without `--no-install`, directly before the name of one of the programs. */
const UNGUARDED = /\b(?:npx|npm (?:exec|x))(?: +(?!--no-install\b)-\S+)* +meter(?:-cloud)?(?![\w/-])/;

const pages = ["", "docs/", "examples/", "bench/", "tools/"].flatMap((folder) =>
  readdirSync(`${root}${folder}`, { recursive: folder !== "", encoding: "utf8" })
    .filter((file) => file.endsWith(".md") && !file.includes("node_modules"))
    .map((file) => `${folder}${file}`),
);
const sources = ["core", "adapters", "daemon", "cloud", "pages", "cli", "examples", "tools"].flatMap(
  sourceFiles,
);

describe("npx in documents and messages", () => {
  // Outside a clone, npm would download another owner's package: `meter` in its registry is not this program.
  it("never fetches a package called meter", () => {
    assert.ok(pages.includes("README.md") && pages.includes("docs/install.md"));
    const wrong = [...pages, ...sources].filter((file) => UNGUARDED.test(readSource(file)));
    assert.deepEqual(wrong, []);
  });

  const texts: [text: string, isUnguarded: boolean][] = [
    ["npx meter start", true],
    ["npx --yes meter start", true],
    ["npm exec meter-cloud", true],
    ["npx -y meter", true],
    ["npx --no-install meter start", false],
    ["npx --no-install meter-cloud serve", false],
    ["npx @llm-meter/meter start", false],
    ["npx meter-maid", false],
  ];
  for (const [text, isUnguarded] of texts)
    it(`${isUnguarded ? "finds" : "allows"} ${text}`, () => assert.equal(UNGUARDED.test(text), isUnguarded));
});
