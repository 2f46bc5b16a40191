import assert from "node:assert/strict";
import { appendFileSync, readdirSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { after, afterEach, before, describe, it, mock } from "node:test";
import { createOutbox } from "../../../../adapters/outbox/create-outbox.ts";
import type { CapturedBody } from "../../../../daemon/store/port/bodies.ts";
import type { QuarantineEntry } from "../../../../daemon/store/port/delivery.ts";
import { sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createEmptyHome, createSampleHome, runWords } from "../../run-command.rig.ts";

const hour = 3_600_000;

describe("meter cloud bodies status", () => {
  afterEach(() => mock.timers.reset());

  /** A home with one body captured at each time; those of `uploaded` were sent, those of `refused` never will be. */
  async function withBodies(
    bodies: { pending?: readonly Date[]; uploaded?: readonly Date[]; refused?: readonly Date[] },
    work: (meter: (...words: string[]) => ReturnType<typeof runWords>) => Promise<void>,
  ): Promise<void> {
    const sample = await createSampleHome((store) => {
      const add = (at: Date) => {
        const record = sampleRecord({ requestedAt: at.getTime() });
        const body: CapturedBody = {
          requestId: record.requestId,
          direction: "request",
          capturedAt: at.getTime(),
          contentType: null,
          content: new Uint8Array([97]),
          originalSizeBytes: 1,
          truncated: false,
          redactionApplied: false,
          redactionSummary: [],
        };
        store.insertBatch({ records: [record], bodies: [body], coverage: [] });
        return { requestId: record.requestId, direction: "request" } as const;
      };
      for (const at of bodies.pending ?? []) add(at);
      for (const at of bodies.uploaded ?? [])
        store.bodyDelivery.markUploaded({ ...add(at), capturedAt: null }, 1);
      for (const at of bodies.refused ?? [])
        store.bodyDelivery.quarantine({ ...add(at), reason: "HTTP 404", httpStatus: 404 }, 1);
    });
    try {
      await work((...words) => runWords(sample.home, ["cloud", "bodies", "status", ...words]));
    } finally {
      sample.remove();
    }
  }
  const at = (now: Date) => mock.timers.enable({ apis: ["Date"], now: now.getTime() });
  const status = async (meter: (...words: string[]) => ReturnType<typeof runWords>, days: number) =>
    JSON.parse((await meter("--days", String(days), "--json")).stdout);

  it("counts uploaded and pending bodies by local day, thirty days by default", async () => {
    at(new Date(2026, 10, 21, 15));
    const bodies = {
      pending: [new Date(2026, 10, 21, 9), new Date(2026, 10, 21, 0), new Date(2026, 9, 12, 12)],
      uploaded: [new Date(2026, 10, 20, 23, 59, 59, 999), new Date(2026, 9, 23, 0)],
      refused: [new Date(2026, 10, 21, 10)],
    };
    await withBodies(bodies, async (meter) => {
      const { stdout } = await meter();
      assert.equal(
        stdout,
        [
          "day         uploaded  pending",
          "──────────  ────────  ───────",
          "2026-10-23         1        0",
          "2026-11-20         1        0",
          "2026-11-21         0        2",
          "total              2        2",
          "",
        ].join("\n"),
      );
      assert.match((await meter("--days", "60")).stdout, /\ntotal +2 +3\n/);
      const rows = [{ date: "2026-11-21", uploaded: 0, pending: 2, held_back: 0 }];
      assert.deepEqual(await status(meter, 1), { days: 1, rows, uploaded: 0, pending: 2, held_back: 0 });
    });
  });

  it("distinguishes bodies that stay on this machine from those that wait", async () => {
    at(new Date(2026, 10, 21, 15));
    const sample = await createSampleHome((store) => {
      const record = sampleRecord({ project: "quiet" });
      const body: CapturedBody = {
        requestId: record.requestId,
        direction: "request",
        capturedAt: Date.now(),
        contentType: null,
        content: new Uint8Array([97]),
        originalSizeBytes: 1,
        truncated: false,
        redactionApplied: false,
        redactionSummary: [],
      };
      store.insertBatch({ records: [record], bodies: [body], coverage: [] });
    }, "[cloud.bodies.per_project]\nquiet = false\n");
    const { stdout } = await runWords(sample.home, ["cloud", "bodies", "status"]);
    sample.remove();
    assert.match(stdout, /^day +uploaded +pending +stays here\n[\s\S]*\ntotal +0 +0 +1\n$/);
  });

  it("counts the same at the last instant of a day and at the first of the next", async () => {
    const midnight = new Date(2026, 10, 21);
    const [before, after] = [new Date(midnight.getTime() - 1), midnight];
    await withBodies({ pending: [before, after] }, async (meter) => {
      at(before);
      // A body captured while the command runs belongs to the day that has begun since.
      const late = await status(meter, 1);
      assert.deepEqual(
        late.rows.map(({ date }: { date: string }) => date),
        ["2026-11-20", "2026-11-21"],
      );
      mock.timers.reset();
      at(after);
      assert.deepEqual((await status(meter, 1)).rows, [
        { date: "2026-11-21", uploaded: 0, pending: 1, held_back: 0 },
      ]);
      assert.equal((await status(meter, 2)).pending, 2);
    });
  });

  // Other runtimes fix the time zone when the process starts.
  const skip = "Deno" in globalThis || "Bun" in globalThis ? "the time zone can't be changed" : false;
  const zones: [zone: string, what: string, now: string, bodies: string[], days: string[]][] = [
    [
      "Europe/Zurich",
      "a day of 23 hours",
      "2026-03-30T10:00:00Z",
      [
        "2026-03-28T22:59:59.999Z",
        "2026-03-28T23:00:00Z",
        "2026-03-29T21:59:59.999Z",
        "2026-03-29T22:00:00Z",
      ],
      ["2026-03-29", "2026-03-29", "2026-03-30"],
    ],
    [
      "Europe/Zurich",
      "a day of 25 hours",
      "2026-10-26T10:00:00Z",
      [
        "2026-10-24T21:59:59.999Z",
        "2026-10-24T22:00:00Z",
        "2026-10-25T22:59:59.999Z",
        "2026-10-25T23:00:00Z",
      ],
      ["2026-10-25", "2026-10-25", "2026-10-26"],
    ],
    [
      "Africa/Cairo",
      "a day without midnight",
      "2026-04-24T10:00:00Z",
      [
        "2026-04-22T21:59:59.999Z",
        "2026-04-22T22:00:00Z",
        "2026-04-23T21:59:59.999Z",
        "2026-04-23T22:00:00Z",
      ],
      ["2026-04-23", "2026-04-23", "2026-04-24"],
    ],
    [
      "Pacific/Kiritimati",
      "a day that begins 14 hours early",
      "2026-11-21T11:00:00Z",
      ["2026-11-19T09:59:59.999Z", "2026-11-19T10:00:00Z", "2026-11-20T10:00:00Z", "2026-11-21T09:59:59Z"],
      ["2026-11-20", "2026-11-21", "2026-11-21"],
    ],
  ];
  for (const [zone, what, now, bodies, expected] of zones) {
    it(`uses the days of the time zone: ${what} (${zone})`, { skip }, async () => {
      const before = process.env.TZ;
      process.env.TZ = zone;
      try {
        at(new Date(now));
        await withBodies({ pending: bodies.map((text) => new Date(text)) }, async (meter) => {
          const counts = Map.groupBy(expected, (date) => date);
          const rows = [...counts].map(([date, all]) => ({
            date,
            uploaded: 0,
            pending: all.length,
            held_back: 0,
          }));
          const days = zone === "Pacific/Kiritimati" ? 3 : 2;
          assert.deepEqual((await status(meter, days)).rows, rows);
        });
      } finally {
        if (before === undefined) delete process.env.TZ;
        else process.env.TZ = before;
      }
    });
  }

  it("reads only the database", async () => {
    const fetched = mock.method(globalThis, "fetch", () => Promise.reject(new Error("no network")));
    const dialled = mock.method(Socket.prototype, "connect", () => {
      throw new Error("no network");
    });
    try {
      await withBodies({}, async (meter) => assert.equal((await meter()).code, 0));
      assert.deepEqual([fetched.mock.callCount(), dialled.mock.callCount()], [0, 0]);
    } finally {
      mock.restoreAll();
    }
  });

  it("reports that there are none, and rejects an invalid number of days", async () => {
    await withBodies({}, async (meter) => {
      const { code, stdout } = await meter();
      assert.deepEqual([code, stdout], [0, "No bodies were captured in the last 30 days.\n"]);
      for (const days of ["0", "-1", "x", "1.5", "99999"])
        assert.equal((await meter(`--days=${days}`)).code, 2);
    });
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
      store.records.insert([one, two]);
      const quarantined = [
        entry(one.requestId),
        entry(two.requestId, { httpStatus: null, reason: "odd\u001b[2J" }),
      ];
      store.delivery.settle({ synced: [], skipped: [], quarantined, at: 1 });
    });

  it("lists refused records, without control characters", async () => {
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
    assert.match(stdout, /\n2 records are in quarantine\.\nSend one again: /);
    assert.deepEqual(Object.keys(json), [
      ...["kind", "request_id", "direction", "reason", "http_status", "quarantined_at"],
    ]);
    assert.equal(json.quarantined_at, "2026-11-21T14:03:00.000Z");
  });

  it("sends one again, or all", async () => {
    const sample = await fill();
    const meter = (...words: string[]) => runWords(sample.home, ["cloud", "quarantine", ...words]);
    assert.equal((await meter("retry")).code, 2);
    assert.equal((await meter("retry", "--all", one.requestId)).code, 2);
    assert.deepEqual(await meter("retry", "ffff"), {
      code: 4,
      stdout: "",
      stderr: "meter: No request in quarantine has the id ffff.\nList them: meter cloud quarantine list\n",
    });
    assert.equal((await meter("retry", "0")).code, 4, "an id that fits two");
    assert.equal(
      (await meter("retry", one.requestId)).stdout,
      "1 record is pending again. The next sync sends it.\n",
    );
    assert.equal(JSON.parse((await meter("list", "--json")).stdout).length, 1);
    assert.match((await meter("retry", "--all")).stdout, /^1 record is pending again/);
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

  it("lists which fields were sent, when, and of which projects", async () => {
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

The times count batches and bodies that contained the field. The exact data sent
is in the outbox folder of the home.
`,
    );
  });

  it("filters by project or period", async () => {
    const web = JSON.parse((await audit("--project", "web", "--json")).stdout);
    assert.deepEqual([web.batches, web.bodies, web.requests], [2, 0, 3]);
    assert.deepEqual(web.log, { intact: true, entries: 3, first_seq: 1, last_seq: 3 });
    const late = JSON.parse((await audit("--from", "2026-11-21T15:30:00Z", "--json")).stdout);
    assert.deepEqual([late.batches, late.bodies, late.first_at], [0, 1, "2026-11-21T16:00:00.000Z"]);
  });

  it("reports that nothing was sent, and exits with 1 if the log was changed", async () => {
    const empty = createEmptyHome();
    const nothing = await runWords(empty.home, ["cloud", "privacy", "audit"]);
    empty.remove();
    assert.deepEqual(
      [nothing.code, nothing.stdout],
      [0, "According to the log, nothing has left this machine.\nThe log is empty.\n"],
    );
    const folder = join(sample.home, "outbox");
    appendFileSync(join(folder, readdirSync(folder)[0]!), "{}\n");
    const { code, stdout } = await audit();
    assert.equal(code, 1);
    assert.match(stdout, /\nThe log was changed: .*line 4: /);
  });
});
