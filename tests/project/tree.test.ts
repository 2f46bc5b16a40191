import assert from "node:assert/strict";
import { posix } from "node:path";
import { describe, it } from "node:test";
import { readSource, sourceFiles, withoutComments } from "./source-files.ts";

const sources = ["core", "adapters", "daemon", "cloud", "cli"].flatMap(sourceFiles);

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

  it("has no default exports and no `any`", () => {
    const wrong = sources.filter((file) =>
      /^export default\b|[:<]\s*any\b|\bas any\b/m.test(withoutComments(readSource(file))),
    );
    assert.deepEqual(wrong, []);
  });
});
