import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import {
  importOptional,
  installArguments,
  MissingPackageError,
  OPTIONAL_PACKAGES,
} from "../../adapters/optional-packages.ts";

describe("importOptional()", () => {
  const folder = mkdtempSync(join(tmpdir(), "meter-optional-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  // There is no node_modules above the system's temporary folder.
  const importing = (name: string, source: string) => {
    const file = join(folder, name);
    writeFileSync(file, source);
    return () => import(pathToFileURL(file).href) as Promise<unknown>;
  };

  it("returns the loaded module", async () => {
    const load = async () => ({ loaded: true });
    assert.deepEqual(await importOptional("better-auth", "The cloud", load), { loaded: true });
  });

  it("rejects with the install command for a missing package or a missing part of it", async () => {
    for (const [name, specifier] of [
      ["@electric-sql/pglite", "@electric-sql/pglite"],
      ["better-auth", "better-auth/api"],
    ] as const) {
      const load = importing(`${name.replace("/", "-")}.mjs`, `import "${specifier}";`);
      await assert.rejects(importOptional(name, "The test", load), (error) => {
        assert.ok(error instanceof MissingPackageError);
        assert.equal(
          error.message,
          `The test needs ${name}, which is not installed. Install it: npm install ${installArguments([name])}`,
        );
        return true;
      });
    }
  });

  it("rejects with any other error unchanged", async () => {
    const other = importing("other.mjs", 'import "better-auth-of-another-name";');
    await assert.rejects(importOptional("better-auth", "The test", other), { code: "ERR_MODULE_NOT_FOUND" });
    const broken = importing("broken.mjs", "throw new RangeError('broken');");
    await assert.rejects(importOptional("better-auth", "The test", broken), RangeError);
  });
});

describe("OPTIONAL_PACKAGES", () => {
  it("are optional peers of the package, at the same versions", () => {
    const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
    for (const [name, range] of Object.entries(OPTIONAL_PACKAGES)) {
      assert.equal(manifest.peerDependencies[name], range);
      assert.deepEqual(manifest.peerDependenciesMeta[name], { optional: true });
    }
  });
});
