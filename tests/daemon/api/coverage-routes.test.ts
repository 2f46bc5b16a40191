import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createOutbox } from "../../../adapters/outbox/create-outbox.ts";
import { noon } from "../store/sample-records.rig.ts";
import { openApi } from "./api.rig.ts";

const HOUR_MS = 3_600_000;
const NOON = new Date(noon).toISOString();

async function openFilled(test: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "outbox-"));
  const outbox = createOutbox(folder);
  const rig = await openApi({ sent: { outbox, localProjects: () => new Set(["secret"]) } });
  test.after(() => {
    rig.close();
    rmSync(folder, { recursive: true, force: true });
  });
  // biome-ignore lint/suspicious/noExplicitAny: the tests read single members of each answer.
  const read = async (path: string): Promise<any> => (await rig.ask(path)).json();
  /** The file that the page offers, and the answer of the API that its curl command asks for. */
  const readBoth = async (page: string) => {
    const text = (await (await rig.ask(page)).text()).replaceAll("&amp;", "&");
    const [, api = ""] =
      /data-copy="curl [^"]*?'http:\/\/[^/]+(\/[^']+)'/.exec(
        text.replaceAll("&#39;", "'").replaceAll("&quot;", ""),
      ) ?? [];
    const [, file = ""] = /href="([^"]*format=json)"/.exec(text) ?? [];
    return [await read(file), await read(api)];
  };
  return { ...rig, outbox, read, readBoth };
}

describe("GET /v1/coverage", () => {
  it("answers with what the page shows of the same period", async (test) => {
    const { store, read, readBoth } = await openFilled(test);
    store.coverage.add([
      { at: noon, host: "h", kind: "metered", count: 5 },
      { at: noon, host: "h", kind: "tunnelled_http2_only", count: 2 },
      { at: noon - 10 * 24 * HOUR_MS, host: "h", kind: "metered", count: 3 },
    ]);
    const [file, answer] = await readBoth("/coverage?period=7d");
    assert.deepEqual(answer, file);
    assert.deepEqual([answer.metered, answer.seen, answer.permille], [5, 7, 714]);
    assert.equal((await read("/v1/coverage")).metered, 8);
    const { metered, seen } = await read(`/v1/coverage?to=${NOON}`);
    assert.deepEqual([metered, seen], [3, 3]);
  });

  it("counts the hosts and kinds of its filters, as the page and its files do", async (test) => {
    const { store, ask, read, readBoth } = await openFilled(test);
    const call = { method: "GET", path: "/x" };
    store.coverage.add([
      { at: noon, host: "a", kind: "metered", count: 5 },
      { at: noon - HOUR_MS, host: "a", kind: "unknown_path", count: 2, call },
      { at: noon, host: "b", kind: "metered", count: 7 },
      { at: noon, host: "b", kind: "lost", count: 1 },
      { at: noon, host: null, kind: "dropped", count: 4 },
      { at: noon, host: "b", kind: "without_usage", count: 3 },
    ]);
    for (const [query, metered, seen, permille, gaps] of [
      ["", 12, 19, 631, ["dropped", "lost", "unknown_path", "without_usage"]],
      ["host=a", 5, 7, 714, ["unknown_path"]],
      ["host.not=a", 7, 12, 583, ["dropped", "lost", "without_usage"]],
      ["host=a&host=", 5, 11, 454, ["dropped", "unknown_path"]],
      ["kind=lost&kind=dropped", 0, 5, null, ["dropped", "lost"]],
      ["kind.not=metered&host=b", 0, 1, null, ["lost", "without_usage"]],
      ["kind=metered", 12, 12, null, []],
      ["kind=without_usage", 0, 0, null, ["without_usage"]],
      ["host=none", 0, 0, null, []],
    ] as const) {
      const [file, answer] = await readBoth(`/coverage?period=7d&${query}`);
      assert.deepEqual(answer, file, query);
      assert.deepEqual([answer.metered, answer.seen, answer.permille], [metered, seen, permille], query);
      const found = answer.counts.map(({ kind }: { kind: string }) => kind);
      assert.deepEqual(found.sort(), gaps, query);
      const sum = (name: string) =>
        answer.buckets.reduce((all: number, bucket: Record<string, number>) => all + (bucket[name] ?? 0), 0);
      assert.deepEqual([sum("metered"), sum("seen")], [metered, seen], query);
      const csv = await (await ask(`/coverage?period=7d&${query}&format=csv`)).text();
      const lines = csv
        .trim()
        .split("\r\n")
        .slice(1)
        .map((line) => line.split(",").map(Number));
      assert.equal(
        lines.reduce((all, line) => all + (line[4] ?? 0), 0),
        seen,
        query,
      );
    }
    const page = await (await ask("/coverage?kind=unknown_path&host.not=b")).text();
    assert.match(page, /Kind <a [^>]*>is<\/a> <bdi>requests to unknown paths<\/bdi>/);
    assert.match(page, /Host <a [^>]*>is not<\/a> <bdi>b<\/bdi>/);
    assert.match(page, /2 calls to providers of these kinds\./);
    assert.match(page, /<option value="a">a<\/option>/);
    assert.doesNotMatch(page, /<code>meter coverage /);
    assert.match(await (await ask("/coverage?machine=m")).text(), /This page has no “machine”/);
    assert.equal((await read("/v1/coverage?kind=lost")).seen, 1);
  });

  it("refuses an unknown kind, which the page leaves out", async (test) => {
    const { ask, readBoth } = await openFilled(test);
    for (const query of ["kind=poem", "kind.not=poem&kind=lost"]) {
      const answer = await ask(`/v1/coverage?${query}`);
      const { code, detail } = JSON.parse(await answer.text());
      assert.deepEqual([answer.status, code], [400, "invalid_query"], query);
      assert.match(detail, /kind\. Expected a kind of calls, such as metered or unknown_path\./);
    }
    const page = await (await ask("/coverage?kind=poem&host=h")).text();
    assert.match(page, /“kind” is left out\. Expected a kind of calls, such as metered or unknown_path\./);
    assert.match(page, /v1\/coverage[^<]*host=h&#39;/);
    const [file] = await readBoth("/coverage?period=7d");
    assert.deepEqual((await readBoth("/coverage?period=7d&kind=poem"))[0], file);
  });

  it("refuses a period that it can't read", async (test) => {
    const { ask } = await openFilled(test);
    for (const [query, code] of [
      ["from=yesterday", "period_malformed"],
      [`from=${NOON}&to=2026-01-01`, "period_reversed"],
    ]) {
      const answer = await ask(`/v1/coverage?${query}`);
      assert.equal(answer.status, 400);
      assert.match(await answer.text(), new RegExp(`"code":"${code}"`));
    }
  });
});

describe("GET /v1/outbox", () => {
  it("answers with what the page shows", async (test) => {
    const { outbox, ask, readBoth } = await openFilled(test);
    const [none] = await readBoth("/privacy");
    assert.deepEqual([none.batches, none.log, none.local_only_projects], [0, null, ["secret"]]);
    const item = {
      kind: "metadata",
      at: noon,
      origin: "https://meter.test",
      requestIds: ["1"],
      payload: "{}",
    } as const;
    await outbox.append({ ...item, projects: ["hermes", "apollo"], fields: ["model"] });
    await outbox.append({ ...item, at: noon + HOUR_MS, projects: ["apollo"], fields: ["model", "project"] });
    const [file, answer] = await readBoth("/privacy");
    assert.deepEqual(answer, file);
    const later = new Date(noon + HOUR_MS).toISOString();
    assert.deepEqual(answer, {
      ...{ batches: 2, bodies: 0, origins: ["https://meter.test"] },
      log: { first_entry: 1, last_entry: 2, changed_entry: null },
      fields: [
        { field: "model", first_at: NOON, last_at: later, times: 2, projects: ["apollo", "hermes"] },
        { field: "project", first_at: later, last_at: later, times: 1, projects: ["apollo"] },
      ],
      projects: [
        { project: "apollo", first_at: NOON, last_at: later, times: 2 },
        { project: "hermes", first_at: NOON, last_at: NOON, times: 1 },
      ],
      local_only_projects: ["secret"],
    });
    const csv = await (await ask("/privacy?format=csv")).text();
    assert.deepEqual(csv.split("\r\n").slice(0, 2), [
      "kind,name,first_at,last_at,times,projects",
      `field,model,${NOON},${later},2,apollo hermes`,
    ]);
  });
});
