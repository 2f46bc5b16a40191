import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Store } from "../../../daemon/store/port/store.ts";
import { openApi } from "../api/api.rig.ts";
import { noon, sampleRecord } from "../store/sample-records.rig.ts";

const FAILURE = new Error("disk I/O error at /home/ann");

const fail = (): never => {
  throw FAILURE;
};

/** Opens a page of a store some of whose reads fail. */
async function openWith(path: string, breakIt: (store: Store) => Partial<Store>) {
  const errors: unknown[] = [];
  const rig = await openApi({ onError: (error) => errors.push(error) });
  try {
    rig.store.records.insert([sampleRecord({ requestedAt: noon, project: "apollo" })]);
    Object.assign(rig.ports, { store: { ...rig.store, ...breakIt(rig.store) } });
    const answer = await rig.ask(path);
    return { status: answer.status, text: await answer.text(), errors };
  } finally {
    rig.close();
  }
}

const brokenCoverage = ({ coverage }: Store) => ({ coverage: { ...coverage, read: fail } });
const brokenLimits = ({ limits }: Store) => ({ limits: { ...limits, list: fail } });
const brokenMenus = ({ reports }: Store) => ({ reports: { ...reports, readEach: fail } });
const brokenBreakdowns = ({ reports }: Store) => ({ reports: { ...reports, readUsageEach: fail } });

describe("a part of a local page that can't be read", () => {
  for (const [path, part, breakIt, rest] of [
    ["/", "breakdowns", brokenBreakdowns, /2026-05 so far[\s\S]*Spent by model[\s\S]*class="chart"/],
    ["/savings", "menus of filters", brokenBreakdowns, /Savings/],
    ["/now", "limits", brokenLimits, /Latest requests[\s\S]*apollo/],
    ["/now", "menus of filters", brokenBreakdowns, /Latest requests[\s\S]*apollo/],
    ["/requests", "coverage, number of requests", brokenCoverage, /apollo/],
    ["/requests", "menus of filters", brokenMenus, /1 of 1 requests[\s\S]*apollo/],
  ] as const)
    it(`is named on ${path} (${part}), which shows the rest`, async () => {
      const { status, text, errors } = await openWith(path, breakIt);
      assert.equal(status, 200);
      assert.match(text, new RegExp(`role="alert">Could not be read: ${part}\\. `));
      assert.match(text, /Code: <code>internal<\/code>\. <a href="[^"]+">Try again<\/a>/);
      assert.match(text, rest);
      assert.doesNotMatch(text, /disk I\/O|home\/ann|This page could not be read/);
      assert.ok(errors.length > 0 && errors.every((error) => error === FAILURE));
    });

  it("is not mentioned if all parts are read", async () => {
    const { text, errors } = await openWith("/", () => ({}));
    assert.doesNotMatch(text, /Could not be read/);
    assert.deepEqual(errors, []);
  });
});
