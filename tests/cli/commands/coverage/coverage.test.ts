import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { noon } from "../../../daemon/store/sample-records.rig.ts";
import { createSampleHome, runWords } from "../../run-command.rig.ts";

const host = "api.anthropic.com";
const hour = 3_600_000;
const day = 24 * hour;

describe("meter coverage", () => {
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  before(async () => {
    sample = await createSampleHome((store) => {
      store.coverage.add([
        { at: noon, host, kind: "metered", count: 14 },
        { at: noon, host, kind: "closed_unused", count: 90 },
        {
          at: noon,
          host,
          kind: "unknown_path",
          count: 1,
          call: { method: "GET", path: "/mcp/{id}/servers" },
        },
        { at: noon - 2 * day, host: "llm.corp.test:4000", kind: "unlisted_openai", count: 12 },
        { at: noon - day, host: "api.openai.com", kind: "tunnelled_no_certificate", count: 5 },
      ]);
      store.coverage.saveRun({ from: noon - 2 * day, to: noon - hour });
      store.coverage.saveRun({ from: noon + hour, to: noon + 2 * hour });
    });
  });
  after(() => sample.remove());

  it("names what was not metered, says what it means, and how to change it", async () => {
    const { stdout, code } = await runWords(sample.home, ["coverage"]);
    assert.equal(code, 0);
    assert.match(stdout, /^Metering coverage: 70 % \(14 of 20 calls/);
    assert.match(
      stdout,
      /^1 request to an unknown path \(unknown_path\)\nThe meter does not know these paths/m,
    );
    assert.match(
      stdout,
      /^api\.anthropic\.com +GET +\/mcp\/\{id\}\/servers +1 +2026-\d\d-\d\dT12:00 to 12:15$/m,
    );
    assert.match(
      stdout,
      /^5 connections to hosts that the trusted certificate does not cover.*\n.*\n.*\n {2}meter init --yes$/m,
    );
    assert.doesNotMatch(stdout, /closed_unused/);
    assert.match(
      stdout,
      /^The meter was not running during 1 period: .*\nfrom \(UTC\).*\n.*\n\S+T11:00 +\S+T13:00 +120 minutes$/m,
    );
  });

  it("prints JSON for one period", async () => {
    const from = new Date(noon).toISOString();
    const { stdout } = await runWords(sample.home, ["coverage", "--since", from, "--json"]);
    const { kinds, gaps, not_running: stopped, ...rest } = JSON.parse(stdout);
    assert.deepEqual(stopped, [{ from, to: new Date(noon + hour).toISOString() }]);
    assert.deepEqual(rest, { metered: 14, seen: 15, blocked: 0, percent: 93.3, unlisted: [], added: [] });
    assert.deepEqual(gaps, [
      { kind: "unknown_path", host, method: "GET", path: "/mcp/{id}/servers", count: 1, last_seen: from },
    ]);
    assert.partialDeepStrictEqual(kinds, [{ kind: "unknown_path", count: 1, command: null }]);
  });

  it("names unlisted hosts with the lines to paste, also in the report", async () => {
    const { stdout } = await runWords(sample.home, ["coverage"]);
    assert.ok(
      stdout.endsWith(`Not metered: 12 calls to llm.corp.test (port 4000), which answers like OpenAI's API. Meter it:
  meter provider add llm.corp.test --port 4000 --api openai
or add to config.toml:
  [[providers]]
  host = "llm.corp.test"
  port = 4000
  provider = "llm-corp-test"
  api = "openai"
`),
      stdout,
    );
    const report = await runWords(sample.home, ["report"]);
    assert.match(
      report.stdout,
      /which answers like OpenAI's API\. Meter it:\n {2}meter provider add llm\.corp\.test/,
    );
    const json = JSON.parse((await runWords(sample.home, ["coverage", "--json"])).stdout);
    assert.equal(json.unlisted[0].lines[0], "[[providers]]");
  });

  it("no longer asks for a host that was added", async () => {
    const seen = await createSampleHome((store) =>
      store.coverage.add([{ at: noon, host: "llm.corp.test:4000", kind: "unlisted_openai", count: 12 }]),
    );
    try {
      const words = ["provider", "add", "llm.corp.test", "--port", "4000", "--api", "openai"];
      assert.equal((await runWords(seen.home, words)).code, 0);
      const sentence =
        "Not metered: 12 calls to llm.corp.test (port 4000) before the host was added. A daemon started since then meters it.";
      for (const command of ["coverage", "report"]) {
        const { stdout } = await runWords(seen.home, [command]);
        assert.ok(stdout.includes(sentence), stdout);
        assert.doesNotMatch(stdout, /Meter it|provider add/);
      }
      const json = JSON.parse((await runWords(seen.home, ["coverage", "--json"])).stdout);
      assert.deepEqual([json.unlisted, json.added[0].host], [[], "llm.corp.test"]);
    } finally {
      await seen.remove();
    }
  });

  it("says how many calls budgets refused, even if no other was seen", async () => {
    const other = await createSampleHome((store) => {
      store.coverage.add([
        { at: noon, host, kind: "blocked", count: 3 },
        { at: noon - 2 * day, host, kind: "metered", count: 1 },
      ]);
    });
    try {
      const ask = async (...words: string[]) => (await runWords(other.home, ["coverage", ...words])).stdout;
      const refused = "3 calls were refused by budgets and not sent.";
      assert.equal(
        await ask(),
        `Metering coverage: 100 % (1 of 1 calls seen on providers' hosts).\nNothing is missing.\n\n${refused}\n`,
      );
      const today = ["--from", new Date(noon).toISOString()];
      assert.equal(await ask(...today), `No calls to providers were seen in this period.\n\n${refused}\n`);
      assert.equal(JSON.parse(await ask("--json")).blocked, 3);
    } finally {
      await other.remove();
    }
  });

  it("says that nothing was seen", async () => {
    const { stdout } = await runWords(sample.home, ["coverage", "--since", "2030-01-01"]);
    assert.equal(stdout, "No calls to providers were seen in this period.\n");
  });
});
