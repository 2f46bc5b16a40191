import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { savePullFailure } from "../../../../daemon/cloud/pull-state.ts";
import { noon, sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createEmptyHome, createSampleHome, runWords } from "../../run-command.rig.ts";

const operator = `
[[pricing.operator]]
provider = "anthropic"
model = "claude-sonnet-4-5"
input = "1"
output = "2"
cache_read = "0.5"
cache_write = "0"
`;

describe("meter pricing", () => {
  it("lists the rates in force, even before anything was metered", async () => {
    const { home, remove } = createEmptyHome();
    const { code, stdout } = await runWords(home, [
      "pricing",
      "list",
      "--provider",
      "anthropic",
      "sonnet-4-5",
    ]);
    remove();
    assert.equal(code, 0);
    const [titles, , first, second] = stdout.split("\n");
    assert.match(titles!, /^provider +model +input +output +cache read +cache write +source$/);
    assert.match(first!, /^anthropic +claude-sonnet-4-5 +3 +15 +0\.3 +3\.75 +bundled$/);
    assert.match(second!, /^ +above 200,000 input tokens +6 +22\.5 +0\.6 +7\.5$/);
  });

  it("finds models by a part of the name, whatever the case of its letters", async () => {
    const { home, remove } = createEmptyHome();
    const words = ["pricing", "list", "--provider", "sambanova"];
    const listed = await Promise.all(
      ["DeepSeek-R1", "deepseek-r1"].map((word) => runWords(home, [...words, word])),
    );
    remove();
    for (const { stdout } of listed) assert.match(stdout, /^sambanova +DeepSeek-R1 /m);
  });

  it("prints them as JSON, in micro-USD per million tokens", async () => {
    const { home, remove } = createEmptyHome();
    const words = ["pricing", "list", "--provider", "anthropic", "--json", "claude-sonnet-4-5"];
    const [rate] = JSON.parse((await runWords(home, words)).stdout);
    remove();
    const { provider, model, source, input, output, cache_read, cache_write, cache_write_1h, tiers } = rate;
    assert.deepEqual(
      { provider, model, source, input, output, cache_read, cache_write, cache_write_1h },
      {
        provider: "anthropic",
        model: "claude-sonnet-4-5",
        source: "bundled",
        input: 3_000_000,
        output: 15_000_000,
        cache_read: 300_000,
        cache_write: 3_750_000,
        cache_write_1h: 6_000_000,
      },
    );
    assert.deepEqual([tiers[0].above_tokens, tiers[0].input], [200_000, 6_000_000]);
  });

  it("prefers the operator's rates, and counts each source", async () => {
    const { home, remove } = createEmptyHome(operator);
    const list = await runWords(home, ["pricing", "list", "--provider", "anthropic", "claude-sonnet-4-5"]);
    const status = await runWords(home, ["pricing", "status"]);
    const json = JSON.parse((await runWords(home, ["pricing", "status", "--json"])).stdout);
    remove();
    assert.match(list.stdout, /\nanthropic +claude-sonnet-4-5 +1 +2 +0\.5 +0 +operator\n/);
    assert.match(
      status.stdout,
      /^bundled {3}[\d,]+ models, dated \d{4}-\d\d-\d\d \(\d+ days old\), from \S+.*\npulled {4}never\noperator {2}1 model, from config\.toml\nauto-pull off\nPull once: .+\nPull every six hours: .+\n$/,
    );
    assert.equal(json.in_force.operator, 1);
    assert.equal(json.in_force.auto, 0);
    assert.ok(json.in_force.bundled > 100);
    assert.match(json.bundled_date, /^\d{4}-\d\d-\d\d$/);
  });

  it("shows the last failed pull, without control characters", async () => {
    const at = Date.UTC(2026, 10, 21, 12);
    const { home, remove } = await createSampleHome(
      (store) => savePullFailure(store.notes, { at, error: "rejected: acme m\u001b[2J" }),
      "[pricing]\nauto_pull = true\n",
    );
    const status = await runWords(home, ["pricing", "status"]);
    const json = JSON.parse((await runWords(home, ["pricing", "status", "--json"])).stdout);
    remove();
    assert.match(
      status.stdout,
      /\nfailed {4}2026-11-21 12:00 UTC: rejected: acme m\ufffd\[2J; no rates changed\n/,
    );
    assert.match(status.stdout, /next pull: 2026-11-21 13:00 UTC\n/);
    assert.equal(json.pull.last_failed_at, "2026-11-21T12:00:00.000Z");
    assert.match(json.pull.last_error, /^rejected: /);
    assert.equal(json.pull.next_pull_at, "2026-11-21T13:00:00.000Z");
    assert.equal(json.pull.last_pull_at, null);
  });

  it("reports that no rates match", async () => {
    const { home, remove } = createEmptyHome();
    assert.equal((await runWords(home, ["pricing", "list", "no-such-model"])).stdout, "No rates match.\n");
    assert.equal((await runWords(home, ["pricing", "list", "no-such-model", "--json"])).stdout, "[]\n");
    remove();
  });
});

describe("meter recompute-costs", () => {
  const tokens = { ...sampleRecord().tokens, cacheWriteTokens: 0, cacheWrite1hTokens: 0, cacheReadTokens: 0 };
  // 100 fresh at $3 and 50 visible at $15 for a million.
  const right = 300_000_000n + 750_000_000n;
  const common = { tokens, usageExtras: null, model: "claude-sonnet-4-5", costPicoUsd: right };
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  before(async () => {
    sample = await createSampleHome((store) =>
      store.records.insert([
        sampleRecord({ ...common, requestedAt: noon }),
        sampleRecord({ ...common, requestedAt: noon + 1, costPicoUsd: 1_000_000_000_000n }),
        sampleRecord({
          ...common,
          requestedAt: noon + 2,
          costPicoUsd: null,
          costSource: "unpriced",
          ratesSource: null,
        }),
        sampleRecord({
          ...common,
          requestedAt: noon + 3,
          costPicoUsd: 7n,
          providerCostPicoUsd: 7n,
          costSource: "provider",
          ratesSource: null,
        }),
        sampleRecord({ ...common, requestedAt: noon + 86_400_000, costPicoUsd: 1n }),
      ]),
    );
  });
  after(() => sample?.remove());
  const recompute = (...words: string[]) => runWords(sample.home, ["recompute-costs", ...words]);
  const total = async () =>
    JSON.parse((await runWords(sample.home, ["report", "--by", "total", "--json"])).stdout).rows[0]
      .cost_pico_usd;

  it("lists what would change, and changes nothing, with --dry-run", async () => {
    const before = await total();
    const { code, stdout, stderr } = await recompute("--dry-run");
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^provider +model +requests +before +after\n/);
    assert.match(stdout, /\nanthropic +claude-sonnet-4-5 +3 +\$1\.0000 +\$0\.0032\n/);
    assert.match(stdout, /\n3 of 5 requests would change: \$1\.0011 before, \$0\.0042 after\.\n$/);
    assert.equal(await total(), before);
  });

  it("changes only the period", async () => {
    const { stdout } = await recompute("--dry-run", "--utc", "--from", "2026-05-13", "--json");
    const changes = JSON.parse(stdout);
    assert.deepEqual(
      [
        changes.dry_run,
        changes.requests,
        changes.changed,
        changes.cost_before_pico_usd,
        changes.cost_after_pico_usd,
      ],
      [true, 1, 1, "1", right.toString()],
    );
    assert.deepEqual(changes.models, [
      {
        provider: "anthropic",
        model: "claude-sonnet-4-5",
        requests: 1,
        before_pico_usd: "1",
        after_pico_usd: right.toString(),
      },
    ]);
  });

  it("stores what differs, once, and keeps costs that providers stated", async () => {
    assert.match((await recompute()).stdout, /\n3 of 5 requests changed: /);
    assert.equal(await total(), (right * 4n + 7n).toString());
    assert.equal((await recompute()).stdout, "The costs of all 5 requests are unchanged.\n");
  });

  it("distinguishes another source at the same price from another cost", async () => {
    const same = `[[pricing.operator]]\nprovider = "anthropic"\nmodel = "claude-sonnet-4-5"\ninput = "3"\noutput = "15"\n`;
    writeFileSync(join(sample.home, "config.toml"), same);
    const words =
      "The costs of all 5 requests are unchanged.\n4 of 5 cost the same, at rates from another source.\n";
    assert.equal((await recompute("--dry-run")).stdout, words);
    assert.equal((await recompute()).stdout, words);
    assert.equal((await recompute()).stdout, "The costs of all 5 requests are unchanged.\n");
  });

  it("uses the operator's rates if there are any", async () => {
    writeFileSync(join(sample.home, "config.toml"), operator);
    await recompute();
    // 100 fresh at $1 and 50 visible at $2.
    assert.equal(await total(), ((100_000_000n + 100_000_000n) * 4n + 7n).toString());
  });

  it("exits with 4 if there is no database, and creates none", async () => {
    const { home, remove } = createEmptyHome();
    for (const words of [["--dry-run"], []]) {
      const { code, stderr } = await runWords(home, ["recompute-costs", ...words]);
      assert.equal(code, 4);
      assert.match(stderr, /^meter: Nothing has been metered yet/);
      assert.equal(existsSync(join(home, "meter.db")), false);
    }
    remove();
  });
});

describe("an invalid configuration", () => {
  const broken: [name: string, config: string, message: RegExp][] = [
    [
      "no TOML",
      '[proxy]\nport = 1\n[api\nport = "x"\n',
      /config\.toml is not valid TOML\. Fix line 3, column \d+\.\n$/,
    ],
    [
      "a key twice",
      "[proxy]\nport = 1\nport = 2\n",
      /config\.toml is not valid TOML\. Fix line 3, column \d+\.\n$/,
    ],
  ];
  for (const [name, config, message] of broken) {
    it(`is rejected by every command that reads it: ${name}`, async () => {
      const { home, remove } = createEmptyHome(config);
      for (const words of [
        ["pricing", "list"],
        ["explain", "last"],
        ["recompute-costs"],
        ["start", "--foreground"],
      ]) {
        const { code, stdout, stderr } = await runWords(home, words);
        assert.deepEqual([code, stdout], [1, ""], words.join(" "));
        assert.match(stderr, message);
      }
      remove();
    });
  }
});
