import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { CapturedBody } from "../../../../daemon/store/port/bodies.ts";
import { noon, sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createSampleHome, runWords } from "../../run-command.rig.ts";

const [record, bare] = [sampleRecord({ requestedAt: noon }), sampleRecord({ requestedAt: noon + 3_600_000 })];
const body = (
  direction: CapturedBody["direction"],
  text: string,
  more: Partial<CapturedBody> = {},
): CapturedBody => ({
  requestId: record.requestId,
  direction,
  capturedAt: noon,
  contentType: "application/json",
  content: new TextEncoder().encode(text),
  originalSizeBytes: 99,
  truncated: false,
  redactionApplied: false,
  redactionSummary: [],
  ...more,
});

describe("meter bodies and meter project", () => {
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  before(async () => {
    sample = await createSampleHome((store) =>
      store.insertBatch({
        records: [record, bare],
        bodies: [
          body("request", '{"a":"Zürich\u001b[31m"}\n', {
            redactionApplied: true,
            redactionSummary: ["email", "jwt"],
          }),
          body("response", "cut he", { contentType: null, truncated: true }),
        ],
        coverage: [],
      }),
    );
  });
  after(() => sample?.remove());
  const meter = (...words: string[]) => runWords(sample.home, words);

  it("shows both bodies with their properties, without control characters", async () => {
    const { code, stdout } = await meter("bodies", "show", record.requestId);
    assert.equal(code, 0);
    assert.equal(
      stdout,
      [
        "── request (application/json; 99 bytes; redacted: email, jwt)",
        '{"a":"Zürich\ufffd[31m"}\n',
        "── response (no content type; 99 bytes; truncated)",
        "cut he",
        "",
      ].join("\n"),
    );
  });

  it("prints one body as stored", async () => {
    const { stdout } = await meter("bodies", "show", record.requestId, "--side", "request");
    assert.equal(stdout, '{"a":"Zürich\u001b[31m"}\n');
    assert.equal((await meter("bodies", "show", record.requestId, "--side", "response")).stdout, "cut he");
  });

  it("prints both as JSON", async () => {
    const { stdout } = await meter("bodies", "show", record.requestId, "--json");
    const bodies = JSON.parse(stdout) as { direction: string; text: string; truncated: boolean }[];
    assert.deepEqual(
      bodies.map(({ direction, text, truncated }) => [direction, text, truncated]),
      [
        ["request", '{"a":"Zürich\u001b[31m"}\n', false],
        ["response", "cut he", true],
      ],
    );
  });

  it("exits with 4 if there is no body, no request, or more than one", async () => {
    assert.deepEqual(await meter("bodies", "show", bare.requestId), {
      code: 4,
      stdout: "",
      stderr:
        "meter: No body was captured for this request.\nCapture those of later requests: meter project <slug> set body-capture on\n",
    });
    const missing = await meter("bodies", "show", "ffff");
    assert.deepEqual(
      [missing.code, missing.stderr],
      [4, "meter: There is no request with the id ffff.\nList the requests: meter requests\n"],
    );
    const ambiguous = await meter("bodies", "show", "01");
    assert.equal(ambiguous.code, 4);
    assert.ok(ambiguous.stderr.includes(bare.requestId));
  });

  it("turns capture on for a project, with a normalised name", async () => {
    assert.deepEqual(await meter("project", "My Web!", "set", "body-capture", "on"), {
      code: 0,
      stdout: "Body capture is on for my-web.\n",
      stderr: "",
    });
    assert.match((await meter("bodies", "stats")).stdout, /\ncapture on {2}my-web\n/);
    assert.deepEqual(JSON.parse((await meter("bodies", "stats", "--json")).stdout).projects, ["my-web"]);
    assert.equal(
      (await meter("project", "my-web", "set", "body-capture", "off")).stdout,
      "Body capture is off for my-web.\n",
    );
    assert.match((await meter("bodies", "stats")).stdout, /\ncapture on {2}no project\n/);
  });

  it("shows how much is captured", async () => {
    const { stdout } = await meter("bodies", "stats");
    assert.equal(
      stdout,
      [
        "bodies      2 from 1 request, 27 bytes",
        "redacted    1",
        "truncated   1",
        "not sent    2",
        "captured    2026-05-12 to 2026-05-12 (UTC)",
        "capture on  no project",
        "",
      ].join("\n"),
    );
  });

  it("reports that nothing is captured", async () => {
    const empty = await createSampleHome();
    const { stdout } = await runWords(empty.home, ["bodies", "stats"]);
    empty.remove();
    assert.match(stdout, /^bodies {6}0 from 0 requests/);
    assert.match(stdout, /\ncaptured {4}never\n/);
  });
});
