import assert from "node:assert/strict";
import type { LookupAddress } from "node:dns";
import { describe, it } from "node:test";
import { createLookupCache, LOOKUP_MAX_AGE_MS } from "../../../daemon/proxy/lookup-cache.ts";

/** A cache whose clock and resolver the test holds. */
function openCache() {
  const state = { now: 1_000, address: "192.0.2.1", code: null as string | null, asked: [] as string[] };
  const cache = createLookupCache(
    (hostname, { family, hints }, done) => {
      state.asked.push(`${hostname} ${family} ${hints}`);
      const { address, code } = state;
      setImmediate(() => {
        if (code === null) done(null, [{ address, family: 4 }]);
        else done(Object.assign(new Error(code), { code }), undefined as unknown as LookupAddress[]);
      });
    },
    () => state.now,
  );
  const resolve = (hostname = "a.test", options = {}) =>
    new Promise<string>((settle) => {
      cache.lookup(hostname, options, (error, addresses, wasCached) =>
        settle(`${error?.code ?? addresses[0]?.address}${wasCached ? " cached" : ""}`),
      );
    });
  return { state, cache, resolve };
}

describe("createLookupCache()", () => {
  it("remembers an answer for ten seconds", async () => {
    const { state, resolve } = openCache();
    assert.equal(await resolve(), "192.0.2.1");
    state.address = "192.0.2.2";
    state.now += LOOKUP_MAX_AGE_MS - 1;
    assert.equal(await resolve(), "192.0.2.1 cached");
    state.now += 1;
    assert.equal(await resolve(), "192.0.2.2");
    assert.equal(LOOKUP_MAX_AGE_MS, 10_000);
  });

  it("does not use an answer from the future: the clock was set back", async () => {
    const { state, resolve } = openCache();
    await resolve();
    state.now -= 1;
    assert.equal(await resolve(), "192.0.2.1");
  });

  it("asks once for parallel requests, and separately for each family", async () => {
    const { state, resolve } = openCache();
    const answers = await Promise.all([resolve(), resolve(), resolve("a.test", { family: 6, hints: 32 })]);
    assert.deepEqual(answers, ["192.0.2.1", "192.0.2.1", "192.0.2.1"]);
    assert.deepEqual(state.asked, ["a.test 0 0", "a.test 6 32"]);
  });

  it("does not remember failures", async () => {
    const { state, resolve } = openCache();
    state.code = "EAI_AGAIN";
    assert.deepEqual(await Promise.all([resolve(), resolve()]), ["EAI_AGAIN", "EAI_AGAIN"]);
    state.code = null;
    assert.equal(await resolve(), "192.0.2.1");
  });

  it("forgets one host, or all", async () => {
    const { state, cache, resolve } = openCache();
    await resolve();
    await resolve("b.test");
    cache.forget("a.test");
    assert.deepEqual([await resolve(), await resolve("b.test")], ["192.0.2.1", "192.0.2.1 cached"]);
    cache.clear();
    assert.equal(await resolve("b.test"), "192.0.2.1");
    assert.equal(state.asked.length, 4);
  });

  it("remembers 256 answers", async () => {
    const { resolve } = openCache();
    for (let host = 0; host <= 256; host += 1) await resolve(`${host}.test`);
    assert.equal(await resolve("1.test"), "192.0.2.1 cached");
    assert.equal(await resolve("0.test"), "192.0.2.1");
  });
});
