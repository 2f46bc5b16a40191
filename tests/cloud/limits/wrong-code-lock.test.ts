import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  createWrongCodeLock,
  MAX_WRONG_CODES,
  WRONG_CODES_LOCK_MS,
} from "../../../cloud/limits/wrong-code-lock.ts";

const MINUTE_MS = 60_000;

describe("createWrongCodeLock()", () => {
  it("locks for ten minutes from the fifth wrong code on, however far apart the five were", async () => {
    const lock = createWrongCodeLock();
    for (const minute of [0, 2, 4, 6, 8]) assert.equal(await lock.take(["ann"], minute * MINUTE_MS), null);
    const fifth = 8 * MINUTE_MS;
    assert.equal(await lock.take(["ann"], fifth), 600);
    // The first wrong code was ten minutes ago.
    assert.equal(await lock.take(["ann"], 10 * MINUTE_MS), 480);
    assert.equal(await lock.take(["ann"], fifth + WRONG_CODES_LOCK_MS - 1), 1);
    assert.equal(await lock.take(["ann"], fifth + WRONG_CODES_LOCK_MS), null);
  });

  it("forgets wrong codes of ten minutes ago", async () => {
    const lock = createWrongCodeLock();
    for (let turn = 0; turn < 20; turn += 1)
      assert.equal(await lock.take(["ann"], turn * 3 * MINUTE_MS), null);
  });

  it("counts an attempt from its start, and refunds one with the right code", async () => {
    const lock = createWrongCodeLock();
    for (let turn = 0; turn < MAX_WRONG_CODES; turn += 1)
      assert.equal(await lock.take(["ann", "here"], 0), null);
    assert.equal(await lock.take(["ann", "elsewhere"], 1), 600);
    assert.equal(await lock.take(["ben", "here"], 1), 600);
    await lock.refund(["ann", "here"], 0);
    assert.equal(await lock.take(["ann", "here"], 1), null);
    assert.equal(await lock.take(["ann", "here"], 1), 600);
    assert.equal(await lock.take(["ben", "elsewhere"], 1), null);
  });

  it("does not lock longer when the clock is set back", async () => {
    const lock = createWrongCodeLock();
    for (let turn = 0; turn < MAX_WRONG_CODES; turn += 1) await lock.take(["ann"], 60 * MINUTE_MS);
    assert.equal(await lock.take(["ann"], 0), null);
  });
});
