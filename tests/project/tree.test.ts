import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { posix } from "node:path";
import { describe, it } from "node:test";
import { readSource, root, sourceFiles, withoutComments } from "./source-files.rig.ts";

const ROOMS = ["core", "adapters", "daemon", "cloud", "pages", "cli"];
const sources = ROOMS.flatMap(sourceFiles);
const tests = sourceFiles("tests");

/** Folders of test code that many suites share. Their files have no suffix. */
const TEST_LIBRARIES = ["tests/simulation/", "tests/conformance/", "tests/cloud/kit/", "tests/chaos/"];
/** Suites about the whole program, or about what is not a room. */
const OTHER_SUITES = [
  "attack",
  "browser",
  "chaos",
  "cloud/kit",
  "conformance",
  "docs",
  "end-to-end",
  "examples",
  "project",
  "simulation",
  "tools",
];

describe("the tree", () => {
  it("names its files in kebab-case, and none of them utils", () => {
    const wrong = sources.filter((file) => {
      const name = posix.basename(file).replace(/(\.d|\.data)?\.ts$/, "");
      return !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) || /^(utils?|helpers?|misc|common)$/.test(name);
    });
    assert.deepEqual(wrong, []);
  });

  it("re-exports in mod.ts alone", () => {
    const wrong = sources.filter(
      (file) =>
        !file.endsWith("/mod.ts") &&
        /^export\s+(\*|\{[^}]*\}|type\s+\{[^}]*\})\s+from\s/m.test(withoutComments(readSource(file))),
    );
    assert.deepEqual(wrong, []);
  });

  it("never turns TLS verification off", () => {
    const wrong = sources.filter((file) =>
      /rejectUnauthorized\s*:\s*false|NODE_TLS_REJECT_UNAUTHORIZED\s*=/.test(
        withoutComments(readSource(file)),
      ),
    );
    assert.deepEqual(wrong, []);
  });

  // A shared folder holds what any local user put there.
  it("keeps nothing in the system's folder for temporary files", () => {
    const programs = [
      "cli/bin.js",
      "cli/cloud-bin.js",
      "cli/node-version.js",
      "cli/compile-cache.js",
      "cli/load-bundle.js",
      "cli/time-zone.js",
    ];
    const wrong = [...sources, ...programs].filter((file) =>
      /\b(tmpdir|mkdtemp(Sync)?|mkdtempDisposable(Sync)?|TMPDIR|enableCompileCache\?*\.?\(\))|["'`]\/(var\/)?tmp\b/.test(
        withoutComments(readSource(file)),
      ),
    );
    assert.deepEqual(wrong, []);
  });

  it("closes the proxy's sockets through close-socket.ts alone: the wrong order crashes Node", () => {
    const wrong = sources.filter(
      (file) =>
        file !== "daemon/proxy/close-socket.ts" &&
        (file.startsWith("daemon/proxy/")
          ? /\.(destroy|destroySoon|resetAndDestroy)\(/
          : /\.resetAndDestroy\(/
        ).test(withoutComments(readSource(file))),
    );
    assert.deepEqual(wrong, []);
  });

  it("holds nothing at the root of cli/ but the programs, their script, and what they need before types are stripped", () => {
    const loose = readdirSync(`${root}cli`, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);
    assert.deepEqual(loose.sort(), [
      "bin.js",
      "cloud-bin.js",
      "compile-cache.js",
      "load-bundle.js",
      "main.ts",
      "mod.ts",
      "node-version.js",
      "supervise.sh",
      "time-zone.js",
    ]);
  });

  it("has a folder of the same path below tests/ for every folder with tests of a room", () => {
    const folders = new Set(sources.map((file) => posix.dirname(file)));
    const wrong = tests.filter((file) => {
      const folder = posix.dirname(file).slice("tests/".length);
      const isOther = OTHER_SUITES.some((suite) => folder === suite || folder.startsWith(`${suite}/`));
      return !isOther && !folders.has(folder) && !ROOMS.includes(folder);
    });
    assert.deepEqual(wrong, []);
  });

  it("names test files .test.ts, suites too slow for the checks .attack.ts, and their helpers .rig.ts", () => {
    const wrong = tests.filter(
      (file) =>
        !/\.(test|attack|rig)\.ts$/.test(file) && !TEST_LIBRARIES.some((folder) => file.startsWith(folder)),
    );
    assert.deepEqual(wrong, []);
  });

  it("has no numbered parameters in SQL for SQLite, which Node 22.19 does not bind", () => {
    const wrong = sources.filter(
      (file) =>
        /^(daemon|adapters|cli)\//.test(file) && /[\s(=]\?[1-9]\b/.test(withoutComments(readSource(file))),
    );
    assert.deepEqual(wrong, []);
  });

  it("has no default exports and no `any`", () => {
    const wrong = sources.filter((file) =>
      /^export default\b|[:<]\s*any\b|\bas any\b/m.test(withoutComments(readSource(file))),
    );
    assert.deepEqual(wrong, []);
  });
});
