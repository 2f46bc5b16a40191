import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { after, afterEach, before, beforeEach, describe, it, mock } from "node:test";
import { sampleRecord } from "../../../../daemon/store/sample-records.rig.ts";
import { createEmptyHome, createSampleHome, runWords } from "../../../run-command.rig.ts";

const NOW = Date.UTC(2026, 10, 21, 14, 30);
const ago = (seconds: number) => NOW - seconds * 1000;

describe("meter cloud status on an empty home", () => {
  it("creates nothing", async () => {
    const { home, remove } = createEmptyHome();
    try {
      const { code, stdout } = await runWords(home, ["cloud", "status"]);
      assert.equal(code, 0);
      assert.match(stdout, /^NOT-CONFIGURED: /);
      assert.deepEqual(readdirSync(home), []);
    } finally {
      remove();
    }
  });
});

describe("meter cloud status", () => {
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  before(async () => {
    const [first, second, refused] = [sampleRecord({}), sampleRecord({}), sampleRecord({})];
    sample = await createSampleHome((store) => {
      store.insertBatch({
        records: [first, second, refused],
        bodies: [first, second].map(({ requestId }) => ({
          requestId,
          direction: "request",
          capturedAt: ago(900),
          contentType: null,
          content: new Uint8Array([97]),
          originalSizeBytes: 1,
          truncated: false,
          redactionApplied: false,
          redactionSummary: [],
        })),
        coverage: [],
      });
      const uploaded = { direction: "request", capturedAt: null } as const;
      store.bodyDelivery.markUploaded({ ...uploaded, requestId: first.requestId }, ago(60));
      store.bodyDelivery.markUploaded({ ...uploaded, requestId: second.requestId }, ago(70));
      const reason = "invalid_record";
      const entry = { kind: "metadata", direction: null, reason, httpStatus: 200 } as const;
      store.delivery.settle({
        synced: [],
        skipped: [],
        quarantined: [{ ...entry, requestId: refused.requestId, quarantinedAt: ago(50) }],
        at: ago(50),
      });
      store.delivery.updateState("cloud_sync_state", {
        paused_reason: "paused_forbidden",
        consecutive_failures: 4,
        last_error: "HTTP 403",
        last_error_at: ago(30),
        last_tick_at: ago(20),
      });
      store.delivery.updateState("cloud_body_sync_state", {
        last_body_tick_at: ago(300),
        last_error: "HTTP 503",
        last_error_at: ago(3_600),
      });
    }, "[cloud]\nenabled = true\nbase_url = 'https://meter.company'\n[cloud.bodies]\nenabled = true\n");
  });
  after(() => sample?.remove());
  beforeEach(() => mock.timers.enable({ apis: ["Date"], now: NOW }));
  afterEach(() => mock.timers.reset());

  const status = (...words: string[]) => runWords(sample.home, ["cloud", "status", ...words]);

  /** The items of the specification, in its order, each in its form for people and for programs. */
  const items: readonly [what: string, line: RegExp, json: readonly string[], value: unknown][] = [
    ["the state banner", /^NOT-CONFIGURED: /, ["banner"], "NOT-CONFIGURED"],
    ["last error", /^last error +HTTP 403 /m, ["sync", "last_error"], "HTTP 403"],
    ["last error at", /^last error .*\(30 s ago\)$/m, ["sync", "last_error_at"], "2026-11-21T14:29:30.000Z"],
    ["consecutive failures", /^failures +4 in a row$/m, ["sync", "consecutive_failures"], 4],
    ["worker last tick", /^last tick +20 s ago$/m, ["sync", "last_tick_at"], "2026-11-21T14:29:40.000Z"],
    [
      "body uploader last tick",
      /^last body tick +5 min ago$/m,
      ["bodies", "last_tick_at"],
      "2026-11-21T14:25:00.000Z",
    ],
    [
      "body last upload, the largest uploaded_at",
      /^last upload +60 s ago$/m,
      ["bodies", "last_upload_at"],
      "2026-11-21T14:29:00.000Z",
    ],
    [
      "the quarantined count",
      /^quarantined +1\. List them: meter cloud quarantine list$/m,
      ["quarantined"],
      1,
    ],
    [
      "why it is paused",
      /^paused +paused_forbidden: The workspace does not permit this machine\. Ask its owner/m,
      ["sync", "paused_reason"],
      "paused_forbidden",
    ],
    [
      "the body uploader's last error",
      /last error HTTP 503 \(60 min ago\)/,
      ["bodies", "last_error"],
      "HTTP 503",
    ],
  ];
  for (const [what, line, json, value] of items) {
    it(`shows ${what}`, async () => {
      assert.match((await status()).stdout, line);
      const said: unknown = JSON.parse((await status("--json")).stdout);
      assert.deepEqual(
        json.reduce<unknown>((inner, name) => (inner as Record<string, unknown>)[name], said),
        value,
      );
    });
  }

  it("warns about an invalid watermark in the configuration", async () => {
    const odd = await createSampleHome(
      undefined,
      "[cloud.bodies]\nenabled = true\nupload_from = 'yesterday'\n",
    );
    const said = "cloud.bodies.upload_from must be now, none, a date or a datetime";
    const { stdout } = await runWords(odd.home, ["cloud", "status"]);
    const { warnings } = JSON.parse((await runWords(odd.home, ["cloud", "status", "--json"])).stdout);
    odd.remove();
    assert.ok(
      stdout.replace(/\s+/g, " ").includes(`warning ${said}; bodies of all dates are uploaded`),
      stdout,
    );
    assert.equal(warnings.length, 1);
    assert.ok(warnings[0].startsWith(said));
    assert.deepEqual(JSON.parse((await status("--json")).stdout).warnings, []);
  });

  it("still shows the status if config.toml is not valid TOML, with what is wrong, and ends with 1", async () => {
    const broken = await createSampleHome(undefined, "[cloud]\nenabled = maybe\n");
    const { code, stdout, stderr } = await runWords(broken.home, ["cloud", "status"]);
    const json = await runWords(broken.home, ["cloud", "status", "--json"]);
    broken.remove();
    assert.deepEqual([code, stderr], [1, ""]);
    assert.match(stdout, /^NOT-CONFIGURED: Nothing is sent to a cloud\./);
    assert.match(
      stdout.replace(/\s+/g, " "),
      /warning \S+config\.toml is not valid TOML\. Fix line 2, column 11\./,
    );
    assert.match(JSON.parse(json.stdout).warnings[0], /config\.toml is not valid TOML/);
  });

  it("shows 0 if nothing is quarantined, and never if nothing happened", async () => {
    const empty = await createSampleHome();
    const { stdout } = await runWords(empty.home, ["cloud", "status"]);
    empty.remove();
    assert.match(stdout, /^quarantined +0$/m);
    for (const label of ["last tick", "last body tick", "last upload"])
      assert.match(stdout, new RegExp(`^${label} +never$`, "m"));
    assert.match(stdout, /^last error +none$/m);
    assert.match(stdout, /^failures +0 in a row$/m);
  });
});
