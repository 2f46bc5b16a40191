import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, it } from "node:test";
import { readSource, root, sourceFiles, withoutComments } from "../project/source-files.rig.ts";

const page = readSource("docs/threats.md");

/** Every `- `file`: name` of the page. */
const cited = [...page.matchAll(/^- `([^`]+)`: (.+)$/gm)].map(([, file = "", name = ""]) => ({ file, name }));

/** The names of suites and tests in a test file, as written in its source. */
function titlesOf(file: string): string[] {
  const titles = readSource(file).matchAll(
    /\b(?:it|describe\w*)\(\s*(?:"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g,
  );
  return [...titles].map(([, plain, template]) => plain ?? template ?? "");
}

describe("docs/threats.md", () => {
  // Planted: a name with one word changed, and a missing file.
  it("cites tests that exist, by their names", () => {
    const wrong = cited.filter(
      ({ file, name }) => !existsSync(root + file) || !titlesOf(file).some((title) => title.includes(name)),
    );
    assert.deepEqual(wrong, []);
  });

  it("has a test for every threat, and each threat once", () => {
    const parts = page.split(/^### /m).slice(1);
    const ids = parts.map((part) => /^T\d\d(?= · )/.exec(part)?.[0]);
    assert.deepEqual(
      [...ids].sort(),
      Array.from({ length: ids.length }, (_, at) => `T${String(at + 1).padStart(2, "0")}`),
    );
    for (const part of parts) assert.match(part, /^- `/m, part.slice(0, 40));
  });
});

describe("what the page says of the tree", () => {
  it("the cloud's own code calls no address", () => {
    // The typed client is for others' programs; pages call the app in the same process.
    const calling = sourceFiles("cloud").filter(
      (file) =>
        file !== "cloud/api/client.ts" &&
        /(?<![.\w])fetch\(\s*["'`]|(?<![.\w])fetch\(new URL|globalThis\.fetch|node:(?:https?|net|tls|dgram|dns)\b|\bundici\b/.test(
          withoutComments(readSource(file)),
        ),
    );
    assert.deepEqual(calling, []);
  });

  it("every package is pinned by its digest, and few run a script", () => {
    const packages = [
      "",
      "examples/demo/",
      "tools/build/",
      "tools/checks/",
      "tools/deploy/",
      "tools/formats/",
    ].flatMap((folder) => {
      const lock: Lock = JSON.parse(readSource(`${folder}package-lock.json`));
      return Object.entries(lock.packages)
        .filter(([path, { link }]) => path.startsWith("node_modules/") && link !== true)
        .map(([path, locked]) => [`${folder}${path}`, locked] as const);
    });
    const loose = packages.filter(
      ([, { integrity, inBundle }]) => integrity === undefined && inBundle !== true,
    );
    assert.deepEqual(loose, []);
    const scripted = packages.flatMap(([path, { hasInstallScript }]) => (hasInstallScript ? [path] : []));
    // A dependency of an SDK that only the demo and the tests use; no user of the package installs it.
    assert.deepEqual(scripted, ["examples/demo/node_modules/protobufjs"]);
  });
});

interface Lock {
  readonly packages: Record<string, LockedPackage>;
}

interface LockedPackage {
  readonly link?: boolean;
  readonly integrity?: string;
  readonly inBundle?: boolean;
  readonly hasInstallScript?: boolean;
}
