import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { noon, sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createEmptyHome, createSampleHome, runWords } from "../../run-command.rig.ts";

// Anthropic's price page: $3 fresh, $0.30 read, $3.75 and $6 written, $15 out per million; $10 per 1,000 searches.
const cost = 300_000_000n + 600_000_000n + 75_000_000n + 60_000_000n + 750_000_000n + 20_000_000_000n;
const priced = sampleRecord({
  requestedAt: noon,
  model: "claude-sonnet-4-5-20250929",
  requestedModel: "claude-sonnet-4-5",
  costPicoUsd: cost,
  providerResponseId: "msg_01ABCdef",
});
const old = sampleRecord({
  requestedAt: noon + 1,
  model: "claude-sonnet-4-5",
  costPicoUsd: 5n,
  client: null,
});
const stated = sampleRecord({
  requestedAt: noon + 2,
  provider: "openrouter",
  model: "anthropic/claude-sonnet-4.5",
  costPicoUsd: 17_000_000n,
  providerCostPicoUsd: 17_000_000n,
  costSource: "provider",
  ratesSource: null,
  usageExtras: null,
});
const failed = sampleRecord({
  requestedAt: noon + 3,
  tokens: { ...sampleRecord().tokens, promptTokens: null, completionTokens: null },
  tokensComplete: false,
  model: "made-up-model\u001b[31m",
  requestedModel: null,
  providerResponseId: null,
  serviceTier: null,
  costPicoUsd: null,
  costSource: "unpriced",
  ratesSource: null,
  httpStatus: 529,
  errorClass: "server_error",
  providerErrorCode: "overloaded_error",
  retryable: true,
});
const silent = sampleRecord({
  requestedAt: noon + 4,
  httpStatus: null,
  errorClass: "network",
  retryable: false,
  streaming: false,
});

describe("meter explain", () => {
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  before(async () => {
    sample = await createSampleHome((store) => store.records.insert([priced, old, stated, failed, silent]));
  });
  after(() => sample?.remove());
  const explain = (...words: string[]) => runWords(sample.home, ["explain", ...words]);

  it("shows counts, rate and arithmetic of one request", async () => {
    const { code, stdout, stderr } = await explain(priced.requestId);
    assert.deepEqual([code, stderr], [0, ""]);
    const said = stdout.split("\n").map((line) => line.trimEnd());
    for (const line of [
      `request       ${priced.requestId}`,
      "when          2026-05-12T12:00:00.000Z  (1200 ms)",
      "call          POST api.anthropic.com/v1/messages",
      "program       claude",
      "model         claude-sonnet-4-5-20250929  (requested: claude-sonnet-4-5)",
      "project       acme-web  (by git root)",
      "response      HTTP 200, streamed",
      "response id   msg_01ABCdef",
      "service tier  standard",
      "Token counts (a dash: the provider did not state it)",
      "  input, fresh            100",
      "  input, cache read     2,000",
      "  input, cache write       30",
      "    of it for one hour     10",
      "  output, visible          50",
      "  output, thinking          –",
      "  web search                2",
    ]) {
      assert.ok(said.includes(line), `${line}\n\n${stdout}`);
    }
    assert.match(stdout, /\nRate: anthropic claude-sonnet-4-5, bundled rates of \d{4}-\d\d-\d\d\n/);
    const amounts: [RegExp, string][] = [
      [/^ {2}input +100 +\$3\.00 \/ M +(\S+)$/m, "$0.0003"],
      [/^ {2}cache read +2,000 +\$0\.30 \/ M +(\S+)$/m, "$0.0006"],
      [/^ {2}cache write +20 +\$3\.75 \/ M +(\S+)$/m, "$0.000075"],
      [/^ {2}cache write 1h +10 +\$6\.00 \/ M +(\S+)$/m, "$0.00006"],
      [/^ {2}output +50 +\$15\.00 \/ M +(\S+)$/m, "$0.00075"],
      [/^ {2}web search +2 +\$0\.01 each +(\S+)$/m, "$0.02"],
      [/^ {2}sum +(\S+)$/m, "$0.021785"],
    ];
    for (const [line, amount] of amounts) assert.equal(line.exec(stdout)?.[1], amount, stdout);
    assert.match(stdout, /\nStored: \$0\.021785 = 21785000000 pico-USD \(computed\)\.\n$/);
  });

  it("finds a request by an id prefix, by its response's id, or as the latest", async () => {
    const found = async (id: string) => /^request +(\S+)/.exec((await explain(id)).stdout)?.[1];
    assert.equal(await found(silent.requestId.slice(0, -1)), silent.requestId);
    assert.equal(await found("msg_01ABCdef"), priced.requestId);
    assert.equal(await found("last"), silent.requestId);
  });

  it("lists the requests of an ambiguous prefix, and exits with 4", async () => {
    const { code, stdout, stderr } = await explain(priced.requestId.slice(0, 6));
    assert.deepEqual([code, stdout], [4, ""]);
    assert.match(stderr, /^meter: Several request ids begin with \S+\. Use a longer prefix:\n/);
    for (const { requestId } of [priced, old, stated, failed, silent])
      assert.ok(stderr.includes(`\n  ${requestId}`));
  });

  for (const id of ["ffffffff", "msg_nothing", "", "%"]) {
    it(`exits with 4 if there is no such request: ${JSON.stringify(id)}`, async () => {
      const { code, stdout, stderr } = await explain(id);
      assert.deepEqual([code, stdout], [4, ""]);
      assert.equal(
        stderr,
        `meter: There is no request with the id ${id}.\nList the requests: meter requests\n`,
      );
    });
  }

  it("reports if the current rates give another cost", async () => {
    const { stdout } = await explain(old.requestId);
    assert.match(stdout, /\nStored: \$0\.000000000005 = 5 pico-USD \(computed\)\.\n/);
    assert.match(stdout, /give a different cost\. Update the stored cost: meter recompute-costs\n$/);
    assert.ok(!stdout.includes("\nprogram "));
  });

  it("uses the cost that the provider stated", async () => {
    const { stdout } = await explain(stated.requestId);
    assert.match(stdout, /\nThe provider stated \$0\.000017, and that cost is used\.\n/);
    assert.match(stdout, /\nStored: \$0\.000017 = 17000000 pico-USD \(provider\)\.\n$/);
  });

  it("reports missing counts and a missing price, without control characters", async () => {
    const { stdout } = await explain(failed.requestId);
    assert.match(stdout, /\nmodel {9}made-up-model\ufffd\[31m\n/);
    assert.match(stdout, /\nresponse {6}HTTP 529, streamed: server_error, retryable \(overloaded_error\)\n/);
    assert.match(
      stdout,
      /\nThe provider answered with HTTP 529 after 1\.2 s: server error \(overloaded_error\)\./,
    );
    assert.match(stdout, /\nNo rate applied\.\n {2}Not priced: .+\.\n/);
    assert.match(stdout, /\nStored: no cost \(unpriced\)\.\n$/);
    assert.ok(!stdout.includes("\u001b"));
  });

  it("reports a call without a response", async () => {
    assert.match((await explain(silent.requestId)).stdout, /\nresponse {6}none: network, not retryable\n/);
  });

  it("prints the same as JSON", async () => {
    const { stdout } = await explain(priced.requestId, "--json");
    const { request, cost_pico_usd, lines, agrees, rate } = JSON.parse(stdout);
    assert.equal(request.request_id, priced.requestId);
    assert.equal(request.cost_pico_usd, cost.toString());
    assert.equal(cost_pico_usd, cost.toString());
    assert.ok(lines.length > 0);
    assert.equal(agrees, true);
    assert.match(rate, /^anthropic claude-sonnet-4-5, bundled/);
  });

  it("exits with 4 if nothing was metered: last", async () => {
    const empty = await createSampleHome();
    const { code, stderr } = await runWords(empty.home, ["explain", "last"]);
    empty.remove();
    assert.deepEqual(
      [code, stderr],
      [4, "meter: Nothing has been metered yet.\nMeter a program: meter run -- <command>\n"],
    );
  });

  it("exits with 4 if there is no database", async () => {
    const { home, remove } = createEmptyHome();
    assert.equal((await runWords(home, ["explain", "last"])).code, 4);
    remove();
  });
});
