import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { CapturedBody } from "../../daemon/store/mod.ts";
import { noon, sampleRecord } from "../daemon/store/sample-records.ts";
import { createSampleHome, runWords } from "./run-words.ts";

const [record, bare] = [sampleRecord({ requestedAt: noon }), sampleRecord({ requestedAt: noon + 3_600_000 })];
const leg = (
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
          leg("request", '{"a":"Zürich\u001b[31m"}\n', {
            redactionApplied: true,
            redactionSummary: ["email", "jwt"],
          }),
          leg("response", "cut he", { contentType: null, truncated: true }),
        ],
        coverage: [],
      }),
    );
  });
  after(() => sample?.remove());
  const meter = (...words: string[]) => runWords(sample.home, words);

  it("shows both directions, with what happened to them, and nothing that steers the terminal", async () => {
    const { code, stdout } = await meter("bodies", "show", record.requestId);
    assert.equal(code, 0);
    assert.equal(
      stdout,
      [
        "── request (application/json; 99 bytes; redacted: email, jwt)",
        '{"a":"Zürich\ufffd[31m"}\n',
        "── response (no content type; 99 bytes; cut)",
        "cut he",
        "",
      ].join("\n"),
    );
  });

  it("prints one direction as it is stored", async () => {
    const { stdout } = await meter("bodies", "show", record.requestId, "--leg", "request");
    assert.equal(stdout, '{"a":"Zürich\u001b[31m"}\n');
    assert.equal((await meter("bodies", "show", record.requestId, "--leg", "response")).stdout, "cut he");
  });

  it("prints both for programs", async () => {
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

  it("ends with 4 where there is no body, no request, or more than one", async () => {
    assert.deepEqual(await meter("bodies", "show", bare.requestId), {
      code: 4,
      stdout: "",
      stderr: "meter: no body of this request was captured\n",
    });
    const missing = await meter("bodies", "show", "ffff");
    assert.deepEqual([missing.code, missing.stderr], [4, "meter: no request ffff\n"]);
    const ambiguous = await meter("bodies", "show", "01");
    assert.equal(ambiguous.code, 4);
    assert.ok(ambiguous.stderr.includes(bare.requestId));
  });

  it("switches capture for a project, whose name it writes as projects are written", async () => {
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

  it("says how much is captured", async () => {
    const { stdout } = await meter("bodies", "stats");
    assert.equal(
      stdout,
      [
        "bodies      2, of 1 request, 27 bytes",
        "redacted    1",
        "cut         1",
        "not sent    2",
        "captured    2026-05-12 to 2026-05-12 (UTC)",
        "capture on  no project",
        "",
      ].join("\n"),
    );
  });

  it("says so where nothing is captured", async () => {
    const empty = await createSampleHome();
    const { stdout } = await runWords(empty.home, ["bodies", "stats"]);
    empty.remove();
    assert.match(stdout, /^bodies {6}0, of 0 requests/);
    assert.match(stdout, /\ncaptured {4}– to – \(UTC\)\n/);
  });
});
