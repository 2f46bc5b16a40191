import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { readSource, sourceFiles } from "./source-files.rig.ts";

const FOLDERS = [
  "core",
  "adapters",
  "daemon",
  "cloud",
  "pages",
  "cli",
  "examples",
  "tools",
  "bench",
  "tests",
];

/** The anchor of a heading, as GitHub makes it: lower case, hyphens for spaces, other punctuation dropped. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number} -]/gu, "")
    .replaceAll(" ", "-");

const headingsOf = (markdown: string) =>
  [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, text]) => text as string);

const specification = readFileSync("docs/specification.md", "utf8");
const anchors = headingsOf(specification).map(anchorOf);

const linesOf = (pattern: RegExp) =>
  FOLDERS.flatMap((folder) =>
    sourceFiles(folder).flatMap((file) =>
      [...readSource(file).matchAll(pattern)].map((match) => ({ file, text: match[0], group: match[1] })),
    ),
  );

describe("citations of the specification", () => {
  const cited = linesOf(/docs\/specification\.md(?:#([a-z0-9-]+))?/g).filter(
    ({ file }) => file !== "tests/project/citations.test.ts",
  );

  it("name a heading that exists", () => {
    assert.ok(cited.length > 150, `only ${cited.length} were found`);
    const broken = cited.filter(({ group }) => group === undefined || !anchors.includes(group));
    assert.deepEqual(
      broken.map(({ file, text }) => `${file}: ${text}`),
      [],
    );
  });

  it("are unique: no two headings have the same anchor", () => {
    assert.deepEqual(
      anchors.filter((anchor, index) => anchors.indexOf(anchor) !== index),
      [],
    );
  });

  it("are the only ones: no comment cites a document outside the tree", () => {
    const foreign = linesOf(/(?:[Cc]ontract|[Dd]ecisions), "[A-Z][^"\n]*"/g);
    assert.deepEqual(
      foreign.map(({ file, text }) => `${file}: ${text}`),
      [],
    );
  });

  it("within the specification lead to a heading too", () => {
    const links = [...specification.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor]) => anchor as string);
    assert.deepEqual(
      links.filter((anchor) => !anchors.includes(anchor)),
      [],
    );
  });
});
