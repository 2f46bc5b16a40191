import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { KIT_SCRIPT, KIT_STYLE } from "../../pages/client-files.data.ts";
import { formatClientFiles } from "../../tools/write-client-files.ts";
import { readSource } from "../project/source-files.rig.ts";

describe("the files that pages load", () => {
  it("are those of pages/client; otherwise run `npm run pages:write`", () => {
    assert.equal(readSource("pages/client-files.data.ts"), formatClientFiles());
  });

  for (const [file, maxKilobytes] of [
    [KIT_SCRIPT, 5],
    [KIT_STYLE, 6],
  ] as const)
    it(`${file.path.replace(/\..*\./, ".")} is at most ${maxKilobytes} KB with gzip`, () => {
      const size = gzipSync(file.text, { level: 9 }).length;
      assert.ok(size <= maxKilobytes * 1024, `${size} bytes`);
    });

  it("evaluate no text as code and set no HTML", () => {
    assert.doesNotMatch(
      KIT_SCRIPT.text,
      /\beval\b|new Function|\.innerHTML\s*=(?!=)|insertAdjacentHTML|document\.write/,
    );
    assert.doesNotMatch(KIT_STYLE.text, /@import|url\((?!"#)/);
  });
});
