import assert from "node:assert/strict";
import module from "node:module";
import { describe, it } from "node:test";
import { compileCacheEnvironment } from "../../../adapters/threads/thread-compile-cache.ts";

describe("compileCacheEnvironment()", () => {
  it("leaves a thread's environment alone if this process has no compile cache", {
    skip: module.getCompileCacheDir?.() === undefined ? false : "NODE_COMPILE_CACHE is set",
  }, () => {
    assert.equal(compileCacheEnvironment(), undefined);
  });
});
