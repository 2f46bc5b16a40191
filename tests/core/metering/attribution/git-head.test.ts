import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  branchOf,
  findPackedCommit,
  readCommit,
  readGitHead,
} from "../../../../core/metering/attribution/git-head.ts";

const sha1 = "0123456789abcdef0123456789abcdef01234567";
const sha256 = "fedcba9876543210".repeat(4);

describe("readGitHead()", () => {
  const heads: readonly [text: string, head: ReturnType<typeof readGitHead>][] = [
    ["ref: refs/heads/main\n", { kind: "reference", reference: "refs/heads/main" }],
    ["ref:refs/heads/main", { kind: "reference", reference: "refs/heads/main" }],
    ["ref: \trefs/heads/a/b/c \r\nmore", { kind: "reference", reference: "refs/heads/a/b/c" }],
    ["ref: refs/heads/日本", { kind: "reference", reference: "refs/heads/日本" }],
    [`${sha1}\n`, { kind: "commit", commit: sha1 }],
    [sha256.toUpperCase(), { kind: "commit", commit: sha256 }],
    ["", null],
    ["ref: ", null],
    ["ref: main", null],
    ["ref: refs/heads", null],
    ["ref: refs/heads/", null],
    ["ref: refs/heads//a", null],
    ["ref: refs/heads/.invalid", null],
    ["ref: refs/heads/../../../../etc/passwd", null],
    ["ref: /refs/heads/main", null],
    ["ref: refs/heads/a..b", null],
    ["ref: refs/heads/a.lock", null],
    ["ref: refs/heads/a.", null],
    ["ref: refs/heads/a b", null],
    ["ref: refs/heads/a\u0007", null],
    ["ref: refs/heads/C:\\x", null],
    [`ref: refs/heads/${"x".repeat(255)}`, null],
    [sha1.slice(1), null],
    [`${sha1}0`, null],
  ];
  for (const [text, head] of heads)
    it(`reads ${JSON.stringify(text.slice(0, 40))}`, () => assert.deepEqual(readGitHead(text), head));

  it("never returns a reference that leaves the repository's folder", () => {
    const part = fc.constantFrom("refs", "heads", "..", ".", "/", "\\", "a", "C:", "", "\u0000", ".lock");
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const head = readGitHead(`ref: ${parts.join("")}`);
        if (head?.kind !== "reference") return;
        const names = head.reference.split("/");
        assert.equal(names[0], "refs");
        for (const name of names) assert.match(name, /^[^.\\:\0][^\\:\0]*$/);
      }),
    );
  });
});

describe("readCommit()", () => {
  it("reads one commit and nothing else", () => {
    assert.equal(readCommit(` ${sha1}\r\n`), sha1);
    assert.equal(readCommit(sha256), sha256);
    assert.equal(readCommit("ref: refs/heads/main"), null);
    assert.equal(readCommit(`${sha1}\n${sha1}`), null);
  });
});

describe("branchOf()", () => {
  it("returns the name of a branch, and null for other references", () => {
    assert.equal(branchOf("refs/heads/feature/login"), "feature/login");
    assert.equal(branchOf("refs/tags/v1"), null);
    assert.equal(branchOf("refs/heads/a..b"), null);
  });
});

describe("findPackedCommit()", () => {
  const packed = [
    "# pack-refs with: peeled fully-peeled sorted ",
    `${"1".repeat(40)} refs/heads/main-2`,
    `${sha1} refs/heads/main`,
    `${"2".repeat(40)} refs/tags/v1`,
    `^${"3".repeat(40)}`,
    `${sha256} refs/heads/long`,
  ].join("\n");

  it("finds the commit of exactly this reference", () => {
    assert.equal(findPackedCommit(packed, "refs/heads/main"), sha1);
    assert.equal(findPackedCommit(`${packed}\r\n`, "refs/heads/long"), sha256);
    assert.equal(findPackedCommit(`${sha1} refs/heads/x`, "refs/heads/x"), sha1);
    for (const reference of ["refs/heads/mai", "refs/heads/main-", "heads/main", "refs/heads/none"])
      assert.equal(findPackedCommit(packed, reference), null, reference);
  });

  it("does not mistake other text for a commit", () => {
    for (const line of [
      `^${sha1} refs/heads/x`,
      `x${sha1} refs/heads/x`,
      "abc refs/heads/x",
      ` refs/heads/x`,
    ])
      assert.equal(findPackedCommit(`# pack-refs\n${line}\n`, "refs/heads/x"), null, line);
  });
});
