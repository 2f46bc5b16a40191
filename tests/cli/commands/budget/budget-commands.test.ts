import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createSqliteOpener } from "../../../../adapters/sqlite/open-sqlite.ts";
import { databaseFile } from "../../../../cli/home/database-file.ts";
import { openStore } from "../../../../daemon/store/open-store.ts";
import type { Store } from "../../../../daemon/store/port/store.ts";
import { cents } from "../../../core/budgets/budgets.rig.ts";
import { sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createSampleHome, runWords } from "../../run-command.rig.ts";

const CONFIG = `[[budget]]
name = "from file"
amount = "20 USD"
period = "total"
`;

describe("meter budget", () => {
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  const run = (...words: string[]) => runWords(sample.home, ["budget", ...words]);

  before(async () => {
    const requestedAt = Date.now();
    sample = await createSampleHome((store) => {
      store.insertBatch({
        records: [
          sampleRecord({ requestedAt, costPicoUsd: cents(450).costPicoUsd, project: "shop" }),
          sampleRecord({ requestedAt, costPicoUsd: cents(500).costPicoUsd, billingMode: "plan" }),
          sampleRecord({ requestedAt, costPicoUsd: null, costSource: "unpriced" }),
        ],
        bodies: [],
        coverage: [],
      });
    }, CONFIG);
  });
  after(() => sample.remove());

  it("sets a budget, and lists it with that of config.toml", async () => {
    const set = await run("set", "shop", "$5", "--period", "total", "--project", "Shop", "--block");
    assert.deepEqual([set.code, set.stderr], [0, ""]);
    assert.match(set.stdout, /^Set shop: 5 USD in total, project shop, then refuses calls\.$/m);
    const { stdout } = await run("list");
    assert.match(stdout, /^from file +\S+ +22 % +\$4\.50 +\$20\.00 +total +– +ok$/m);
    assert.match(stdout, /^shop +\S+ +90 % +\$4\.50 +\$5\.00 +total +– +warning$/m);
    assert.match(stdout, /^from file: 1 call without a known price is not included\.$/m);
  });

  it("forgets the warnings of a budget that counts other calls from now on, and keeps them with another amount", async () => {
    const warnings = async (work: (store: Store) => void) => {
      const store = await openStore(createSqliteOpener(), databaseFile(sample.home));
      work(store);
      const { length } = store.budgets.warnings("warned");
      store.close();
      return length;
    };
    await run("set", "warned", "1 USD", "--project", "a");
    const warning = { budget: "warned", key: "", threshold: 50, limit: 1n, at: Date.now() };
    assert.equal(await warnings((store) => store.budgets.addWarnings([warning])), 1);
    await run("set", "warned", "2 USD", "--project", "a");
    assert.equal(await warnings(() => {}), 1);
    await run("set", "warned", "2 USD", "--project", "b");
    assert.equal(await warnings(() => {}), 0);
    await run("remove", "warned");
  });

  it("explains a budget with the command that lists its records, and what was done to it", async () => {
    await run("lift", "shop", "--for", "1h", "--reason", "release day");
    const { stdout } = await run("show", "shop");
    assert.match(stdout, /^spent +\$4\.50 \(1 call\)$/m);
    assert.match(
      stdout,
      /^The sum counts the stored calls .* Show them:\n {2}meter report --by model --project shop$/m,
    );
    assert.match(stdout, /lifted until .* by .*: release day$/m);
    await run("set", "odd", "1 USD", "--branch", "it's; true", "--model=-x");
    assert.match(
      (await run("show", "odd")).stdout,
      /^ {2}meter report --by model --from \S+ --branch 'it'\\''s; true' --model=-x$/m,
    );
    await run("remove", "odd");
    const { budgets } = JSON.parse((await run("list", "--json")).stdout);
    assert.deepEqual(
      budgets.map(({ name, source, status }: Record<string, string>) => [name, source, status]),
      [
        ["from file", "config.toml", "ok"],
        ["shop", "command line", "lifted"],
      ],
    );
  });

  it("pauses and resumes a budget of config.toml, but neither replaces nor removes it", async () => {
    await run("pause", "from file");
    assert.match((await run("list")).stdout, /^from file .* paused$/m);
    await run("resume", "from file");
    assert.match((await run("list")).stdout, /^from file .* ok$/m);
    for (const words of [
      ["set", "from file", "1 USD"],
      ["remove", "from file"],
    ]) {
      const { code, stderr } = await run(...words);
      assert.equal(code, 1);
      assert.match(stderr, /from file is set in config\.toml/);
    }
  });

  it("removes a budget with its pause and its lift", async () => {
    assert.equal((await run("remove", "shop")).code, 0);
    const { code, stderr } = await run("show", "shop");
    assert.deepEqual([code, /There is no budget shop/.test(stderr)], [4, true]);
  });

  const wrong: [words: string[], message: RegExp][] = [
    [["set", "a", "much"], /The amount must be written like "25 USD"/],
    [["set", "a\u001b[2J", "1 USD"], /The name must be 1 to 64 letters/],
    [["set", "a", "1 USD", "--period", "year"], /--period must be hour, day, week, month/],
    [["set", "a", "1 USD", "--cool-down", "1m"], /--cool-down needs a period that is a duration/],
    [["set", "a", "1 USD", "--billing", "paid"], /--billing must be one of metered/],
    [
      ["set", "a", "1 USD", "--thresholds", "half"],
      /Invalid value for --thresholds: half\. Expected: whole numbers in percent, such as 50,80,100\.\n/,
    ],
    [
      ["set", "workspace/a", "1 USD"],
      /The name must not begin with workspace\/, because the budgets of a workspace/,
    ],
    [
      ["set", "a", "1 USD", "--model", "gpt*5"],
      /--model can have a \* only at the end of a name, such as gpt-\*/,
    ],
    [
      ["set", "a", "9 requests", "--period", "1m", "--cool-down", "5m", "--thresholds", "50"],
      /--thresholds has no effect with --cool-down/,
    ],
    [["set", "a", "1 USD", "--reserve"], /--fail-closed and --on-exceed cut need --block/],
    [
      ["lift", "a", "--for", "forever"],
      /Invalid value for --for: forever\. Expected: a duration of up to 31d, such as 1h\.\n/,
    ],
    [["pause", "a"], /There is no budget a\./],
  ];
  for (const [words, message] of wrong)
    it(`rejects ${words.join(" ")}`, async () => {
      const { code, stderr } = await run(...words);
      assert.notEqual(code, 0);
      assert.match(stderr, message);
    });
});
