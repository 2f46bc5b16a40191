import assert from "node:assert/strict";
import { appendFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createOutbox } from "../../../adapters/outbox/mod.ts";
import type { CapturedBody, QuarantineEntry } from "../../../daemon/store/mod.ts";
import { sampleRecord } from "../../daemon/store/sample-records.ts";
import { createEmptyHome, createSampleHome, runWords } from "../run-words.ts";

const hour = 3_600_000;
const localDay = (at: number) => {
  const date = new Date(at);
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()]
    .map((part) => String(part).padStart(2, "0"))
    .join("-");
};

describe("meter cloud bodies status", () => {
  const now = Date.now();
  // Noon, so that no summer time moves it to another day.
  const noon = (daysAgo: number) => {
    const date = new Date(now);
    return new Date(date.getFullYear(), date.getMonth(), date.getDate() - daysAgo, 12).getTime();
  };
  const records = [0, 1, 40].map((daysAgo) => sampleRecord({ requestedAt: noon(daysAgo) }));
  const leg = (index: number, direction: CapturedBody["direction"]): CapturedBody => ({
    requestId: records[index]!.requestId,
    direction,
    capturedAt: records[index]!.requestedAt,
    contentType: null,
    content: new Uint8Array([97]),
    originalSizeBytes: 1,
    truncated: false,
    redactionApplied: false,
    redactionSummary: [],
  });
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  before(async () => {
    sample = await createSampleHome((store) => {
      const bodies = [leg(0, "request"), leg(0, "response"), leg(1, "request"), leg(2, "request")];
      store.insertBatch({ records, bodies, coverage: [] });
      store.markBodyUploaded(
        { requestId: records[1]!.requestId, direction: "request", capturedAt: null },
        now,
      );
    });
  });
  after(() => sample?.remove());
  const meter = (...words: string[]) => runWords(sample.home, ["cloud", "bodies", "status", ...words]);

  it("counts uploaded and pending bodies by day, thirty of them unless told otherwise", async () => {
    const { stdout } = await meter();
    assert.equal(
      stdout,
      [
        "day         uploaded  pending",
        "──────────  ────────  ───────",
        `${localDay(noon(1))}         1        0`,
        `${localDay(noon(0))}         0        2`,
        "total              1        2",
        "",
      ].join("\n"),
    );
    assert.match((await meter("--days", "60")).stdout, /\ntotal +1 +3\n/);
    assert.deepEqual(JSON.parse((await meter("--days", "1", "--json")).stdout), {
      days: 1,
      rows: [{ date: localDay(noon(0)), uploaded: 0, pending: 2 }],
      uploaded: 0,
      pending: 2,
    });
  });

  it("says so where there are none, and refuses what is no number of days", async () => {
    const empty = await createSampleHome();
    const { code, stdout } = await runWords(empty.home, ["cloud", "bodies", "status"]);
    empty.remove();
    assert.deepEqual([code, stdout], [0, "No bodies were captured in the last 30 days.\n"]);
    for (const days of ["0", "-1", "x", "1.5", "99999"])
      assert.equal((await meter(`--days=${days}`)).code, 2);
  });
});

describe("meter cloud quarantine", () => {
  const [one, two] = [sampleRecord({}), sampleRecord({})];
  const entry = (requestId: string, more: Partial<QuarantineEntry> = {}): QuarantineEntry => ({
    kind: "metadata",
    requestId,
    direction: null,
    reason: "invalid_record: model is too long",
    httpStatus: 422,
    quarantinedAt: Date.UTC(2026, 10, 21, 14, 3),
    ...more,
  });
  const fill = () =>
    createSampleHome((store) => {
      store.insertRecords([one, two]);
      const quarantined = [
        entry(one.requestId),
        entry(two.requestId, { httpStatus: null, reason: "odd\u001b[2J" }),
      ];
      store.settleRequests({ synced: [], skipped: [], quarantined, at: 1 });
    });

  it("lists what was refused, and nothing that steers the terminal", async () => {
    const sample = await fill();
    const { stdout } = await runWords(sample.home, ["cloud", "quarantine", "list"]);
    const [json] = JSON.parse(
      (await runWords(sample.home, ["cloud", "quarantine", "list", "--json"])).stdout,
    );
    sample.remove();
    assert.match(stdout, /^since \(UTC\) +request +what +status +reason\n/);
    assert.ok(
      stdout.includes(`2026-11-21 14:03  ${one.requestId}  metadata     422  invalid_record: model is`),
    );
    assert.ok(!stdout.includes("\u001b"));
    assert.match(stdout, /\n2 records are kept back\. /);
    assert.deepEqual(Object.keys(json), [
      ...["kind", "request_id", "direction", "reason", "http_status", "quarantined_at"],
    ]);
    assert.equal(json.quarantined_at, "2026-11-21T14:03:00.000Z");
  });

  it("lets one be sent again, or all", async () => {
    const sample = await fill();
    const meter = (...words: string[]) => runWords(sample.home, ["cloud", "quarantine", ...words]);
    assert.equal((await meter("retry")).code, 2);
    assert.equal((await meter("retry", "--all", one.requestId)).code, 2);
    assert.deepEqual(await meter("retry", "ffff"), {
      code: 4,
      stdout: "",
      stderr: "meter: ffff is not in quarantine\n",
    });
    assert.equal((await meter("retry", "0")).code, 4, "an id that fits two");
    assert.equal(
      (await meter("retry", one.requestId)).stdout,
      "1 is pending again, and sent with the next sync.\n",
    );
    assert.equal(JSON.parse((await meter("list", "--json")).stdout).length, 1);
    assert.match((await meter("retry", "--all")).stdout, /^1 is pending again/);
    assert.equal((await meter("list")).stdout, "Nothing is in quarantine.\n");
    assert.equal((await meter("retry", "--all")).stdout, "Nothing is in quarantine.\n");
    sample.remove();
  });
});

describe("meter cloud privacy audit", () => {
  const at = Date.UTC(2026, 10, 21, 14);
  const sent = { kind: "metadata", origin: "https://cloud.example", payload: "{}" } as const;
  let sample: ReturnType<typeof createEmptyHome>;
  before(async () => {
    sample = createEmptyHome();
    const outbox = createOutbox(sample.home);
    await outbox.append({
      ...sent,
      at,
      projects: ["web"],
      requestIds: ["a", "b"],
      fields: ["model", "path"],
    });
    await outbox.append({
      ...sent,
      at: at + hour,
      projects: ["web", "api"],
      requestIds: ["c"],
      fields: ["model"],
    });
    await outbox.append({
      ...{ ...sent, kind: "body", at: at + 2 * hour },
      ...{ projects: ["api"], requestIds: ["c"], fields: ["request body"] },
    });
  });
  after(() => sample?.remove());
  const audit = (...words: string[]) =>
    runWords(sample.home, ["cloud", "privacy", "audit", ...words], { COLUMNS: "80" });

  it("says which fields left, when, and of which projects", async () => {
    const { code, stdout } = await audit();
    assert.equal(code, 0);
    assert.equal(
      stdout,
      `2 batches and 1 body of 3 requests have left this machine,
from 2026-11-21 14:00 to 2026-11-21 16:00 UTC, to https://cloud.example.
The log is intact: entries 1 to 3.

field         first             last              times  projects
────────────  ────────────────  ────────────────  ─────  ────────
model         2026-11-21 14:00  2026-11-21 15:00      2  api, web
path          2026-11-21 14:00  2026-11-21 14:00      1  web
request body  2026-11-21 16:00  2026-11-21 16:00      1  api

project  first             last              times
───────  ────────────────  ────────────────  ─────
api      2026-11-21 15:00  2026-11-21 16:00      2
web      2026-11-21 14:00  2026-11-21 15:00      2

Times count batches and bodies that held the field. What was sent, word for
word, is in the outbox folder of the home.
`,
    );
  });

  it("looks at one project or period", async () => {
    const web = JSON.parse((await audit("--project", "web", "--json")).stdout);
    assert.deepEqual([web.batches, web.bodies, web.requests], [2, 0, 3]);
    assert.deepEqual(web.log, { intact: true, entries: 3, first_seq: 1, last_seq: 3 });
    const late = JSON.parse((await audit("--from", "2026-11-21T15:30:00Z", "--json")).stdout);
    assert.deepEqual([late.batches, late.bodies, late.first_at], [0, 1, "2026-11-21T16:00:00.000Z"]);
  });

  it("says so where nothing left, and ends with 1 where the log was changed", async () => {
    const empty = createEmptyHome();
    const nothing = await runWords(empty.home, ["cloud", "privacy", "audit"]);
    empty.remove();
    assert.deepEqual(
      [nothing.code, nothing.stdout],
      [0, "Nothing has left this machine, as far as the log goes back.\nThe log is empty.\n"],
    );
    const folder = join(sample.home, "outbox");
    appendFileSync(join(folder, readdirSync(folder)[0]!), "{}\n");
    const { code, stdout } = await audit();
    assert.equal(code, 1);
    assert.match(stdout, /\nThe log was changed: .*line 4: /);
  });
});
