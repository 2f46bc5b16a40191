import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withProgress } from "../../../../../cli/commands/cloud/sync/with-progress.ts";

describe("withProgress()", () => {
  it("reports every five seconds until the work is done, even if a report fails", async (t) => {
    t.mock.timers.enable({ apis: ["setInterval"] });
    const { promise, resolve } = Promise.withResolvers<string>();
    let told = 0;
    const done = withProgress(promise, async () => {
      told += 1;
      throw new Error("nobody listens");
    });
    t.mock.timers.tick(4_999);
    assert.equal(told, 0);
    t.mock.timers.tick(5_001);
    assert.equal(told, 2);
    resolve("done");
    assert.equal(await done, "done");
    t.mock.timers.tick(60_000);
    assert.equal(told, 2);
  });

  it("rejects with the error of the work", async () => {
    await assert.rejects(
      withProgress(Promise.reject(new Error("no cloud")), async () => {}),
      /no cloud/,
    );
  });
});
