import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { LimitReading } from "../../../../core/metering/limits/stated-limit.ts";
import { reading } from "../../../core/metering/limits/limits.rig.ts";
import { sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createEmptyHome, createSampleHome, runWords } from "../../run-command.rig.ts";

const HOUR = 3_600_000;

describe("meter limits", () => {
  let sample: Awaited<ReturnType<typeof createSampleHome>>;

  before(async () => {
    // The command reads the system's clock.
    const now = Date.now();
    const save = (members: Partial<LimitReading>) => ({
      reading: reading({ account: "0123456789abcdef", ...members }),
      isPoint: true,
    });
    sample = await createSampleHome((store) => {
      store.insertBatch({
        records: [sampleRecord({ requestedAt: now - HOUR / 2, billingMode: "plan", project: "apollo" })],
        bodies: [],
        coverage: [],
      });
      store.limits.save([save({ usedPpm: 400_000, resetAt: now + 3 * HOUR, seenAt: now - HOUR })]);
      store.limits.save([
        save({ usedPpm: 620_000, resetAt: now + 3 * HOUR, seenAt: now, status: "allowed" }),
        save({
          window: "7d",
          windowMs: 168 * HOUR,
          scope: "opus",
          usedPpm: 310_000,
          resetAt: now + 50 * HOUR,
          seenAt: now,
        }),
        save({
          provider: "openrouter",
          window: "total",
          windowMs: null,
          unit: "micro_usd",
          limit: 10e6,
          remaining: 25e5,
          usedPpm: 750_000,
          seenAt: now,
        }),
      ]);
    });
  });
  after(() => sample.remove());

  it("lists the windows with use, reset, elapsed time and forecast", async () => {
    const { code, stdout } = await runWords(sample.home, ["limits"]);
    assert.equal(code, 0);
    const lines = stdout.trimEnd().split("\n");
    assert.match(lines[0] ?? "", /^account +window +used +resets +elapsed +full +seen$/);
    assert.match(
      lines[2] ?? "",
      /^anthropic 012345 +5h +▓{6}░{4} +62 % +2 h 59 min \(\d\d:\d\d\) +40 % +about \d\d:\d\d +just now$/,
    );
    assert.match(lines[3] ?? "", /^anthropic 012345 +7d opus +▓{3}░{7} +31 % +2 d 1 h/);
    assert.match(lines[4] ?? "", /^openrouter 012345 +total +▓{7}░{3} +\$7\.50 of \$10\.00 +– +–/);
  });

  it("leaves columns out on a narrow terminal", async () => {
    const head = async (COLUMNS: string) =>
      (await runWords(sample.home, ["limits"], { COLUMNS })).stdout.split("\n", 1)[0]?.trim().split(/ +/);
    assert.deepEqual(await head("110"), ["account", "window", "used", "resets", "elapsed", "full"]);
    assert.deepEqual(await head("80"), ["account", "window", "used", "resets", "full"]);
    assert.deepEqual(await head("40"), ["account", "window", "used", "resets", "full"]);
  });

  it("divides windows by project", async () => {
    const { stdout } = await runWords(sample.home, ["limits", "--by", "project"]);
    assert.match(
      stdout,
      /^anthropic 012345 5h\nproject +of the window\n.*\napollo +22\.0 %\nelsewhere +40\.0 %$/m,
    );
    assert.match(stdout, /Shares are estimates/);
  });

  it("prints JSON", async () => {
    const { stdout } = await runWords(sample.home, ["limits", "--json", "--by", "project"]);
    const { limits } = JSON.parse(stdout) as { limits: { window: string; shares?: { items: unknown } }[] };
    assert.deepEqual(
      limits.map(({ window }) => window),
      ["5h", "7d", "total"],
    );
    assert.deepEqual(limits[0]?.shares?.items, [{ key: "apollo", used_percent: 22 }]);
    const plain = JSON.parse((await runWords(sample.home, ["limits", "--json"])).stdout) as typeof limits;
    assert.ok(!JSON.stringify(plain).includes("shares"));
  });

  it("prints the list once with --watch if there is no terminal", async () => {
    const { code, stdout } = await runWords(sample.home, ["limits", "--watch"]);
    assert.equal(code, 0);
    assert.match(stdout, /^account/);
  });

  it("rejects what it can't divide by", async () => {
    const { code, stderr } = await runWords(sample.home, ["limits", "--by", "colour"]);
    assert.equal(code, 2);
    assert.match(stderr, /^meter: Invalid value for --by: colour\. Expected: project, session, agent\.\n/);
  });

  it("reports that no limit, or no share, is known", async () => {
    const empty = await createSampleHome();
    assert.equal(
      (await runWords(empty.home, ["limits", "--by", "agent"])).stdout,
      "No limits are known yet. Most providers state them with their responses.\nMeter a program: meter run -- <command>\n",
    );
    empty.remove();
    const none = createEmptyHome();
    assert.equal((await runWords(none.home, ["limits"])).code, 4);
    none.remove();
  });

  it("reports that no use can be divided", async () => {
    const one = await createSampleHome((store) =>
      store.limits.save([
        { reading: reading({ usedPpm: 5, windowMs: null, seenAt: Date.now() }), isPoint: true },
      ]),
    );
    const { stdout } = await runWords(one.home, ["limits", "--by", "agent"]);
    assert.match(stdout, /No shares can be estimated yet/);
    one.remove();
  });
});
