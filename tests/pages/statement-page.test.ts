import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { html } from "hono/html";
import { sha256Hex } from "../../adapters/crypto/node-crypto.ts";
import { loadBundledRates } from "../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../core/pricing/price-book.ts";
import { answerUsage, type UsageGroup } from "../../core/pricing/view/usage-answer.ts";
import { planUsage } from "../../core/pricing/view/usage-plan.ts";
import type { UsageQuery } from "../../core/pricing/view/usage-query.ts";
import { emptySums } from "../../core/pricing/view/usage-sums.ts";
import { findZone } from "../../core/values/zone.ts";
import type { UsageAnswer } from "../../core/wire/usage.ts";
import { type StatementHost, type StatementPage, showStatement } from "../../pages/statement-page.ts";
import type { UsageHost } from "../../pages/usage-host.ts";

const NOW = Date.UTC(2026, 10, 23, 12);
const USD = 1_000_000_000_000n;
const HOSTILE = `<b>"'&`;

/** The requests of the host: project, model, provider, person, day of November and cost. */
const CALLS = [
  ["apollo", "claude-opus-4-5", "anthropic", "ann", 1, 5n],
  ["apollo", HOSTILE, "anthropic", "ann", 1, 7n],
  [HOSTILE, "claude-opus-4-5", "anthropic", "ben", 22, 11n],
] as const;

/** The requests of October. */
const EARLIER = [
  ["apollo", "claude-opus-4-5", "anthropic", "ann", 1, 10n],
  ["gone", "gpt-5", "openai", "cat", 1, 4n],
] as const;

type Call = (typeof CALLS | typeof EARLIER)[number];

const TOKENS = { ...emptySums().tokens, prompt: 1n, cacheRead: 2n, thinking: 3n };

const book = createPriceBook(loadBundledRates());

function hostWith(change: Partial<StatementHost> = {}): StatementHost {
  const readUsage = async (query: UsageQuery) => {
    const zone = findZone(query.tz ?? "UTC");
    assert.ok(zone !== null);
    const planned = planUsage(query, { now: NOW, zone });
    assert.ok(planned.ok, JSON.stringify(planned));
    const partOf = (call: Call, name: string | null): string | null => {
      const [project, model, provider, person] = call;
      return name === null ? null : ({ project, model, provider, person }[name] ?? null);
    };
    const sums = (cost: bigint) => ({
      ...emptySums(),
      requests: 1,
      spentPicoUsd: cost * USD,
      tokens: TOKENS,
    });
    const { from } = planned.plan.period;
    const isOctober = from === Date.UTC(2026, 8, 30, 22);
    const calls: readonly Call[] = isOctober ? EARLIER : from === Date.UTC(2026, 9, 31, 23) ? CALLS : [];
    const answer = answerUsage(planned.plan, {
      groups: calls.map(
        (call): UsageGroup => ({
          by: partOf(call, query.by),
          thenBy: partOf(call, query.thenBy),
          sums: sums(call[5]),
        }),
      ),
      buckets:
        planned.plan.buckets.length === 0
          ? []
          : calls.map((call) => ({ by: partOf(call, query.by), bucket: call[4] - 1, sums: sums(call[5]) })),
      compared: [],
      comparedBuckets: [],
      coverage: null,
    });
    return { ok: true, value: answer } as const;
  };
  const usage = {
    now: NOW,
    base: "/w/1",
    readUsage,
    prices: async () => book,
    renderTools: (path: string, tools: object) => html`<i data-path="${path}">${JSON.stringify(tools)}</i>`,
  } as unknown as UsageHost;
  return {
    usage,
    zone: "Europe/Berlin",
    subject: HOSTILE,
    hasPeople: true,
    hashText: sha256Hex,
    ...change,
  };
}

const show = (month: string | null, query = "", change: Partial<StatementHost> = {}) =>
  showStatement(hostWith(change), month, new URLSearchParams(query));

async function textOf(page: StatementPage): Promise<string> {
  assert.equal(page.kind, "page");
  return page.kind === "page" ? String(await page.page.main) : "";
}

describe("showStatement()", () => {
  it("leads to the last month that has ended, in the zone of the host", async () => {
    assert.deepEqual(await show(null), { kind: "redirect", href: "/w/1/statement/2026-10" });
    const auckland = { ...hostWith().usage, now: Date.UTC(2026, 9, 31, 12) };
    assert.deepEqual(await show(null, "", { usage: auckland, zone: "Pacific/Auckland" }), {
      kind: "redirect",
      href: "/w/1/statement/2026-10",
    });
  });

  it("shows days, projects, models, people and rates, whose sums are the total", async () => {
    const text = await textOf(await show("2026-11"));
    assert.ok(!text.includes(HOSTILE) && text.includes("&lt;b&gt;&quot;&#39;&amp;"));
    assert.match(text, /<strong><data value="23">\$23\.00<\/data><\/strong>/);
    assert.match(text, /The month has not ended/);
    const tables = text.split("<table").slice(1);
    const valuesOf = (label: string, kind: RegExp) => {
      const table = tables.find((each) => each.includes(`aria-label="${label}"`)) ?? "";
      return [...table.matchAll(kind)].map(([, value]) => Number(value));
    };
    const sum = (values: number[]) => values.reduce((all, each) => all + each, 0);
    const projects = /class="whole">.*?value="([\d.]+)"/gs;
    const models = /class="name part">.*?value="([\d.]+)"/gs;
    assert.deepEqual(valuesOf("Projects and models", projects).sort(), [11, 12]);
    assert.equal(sum(valuesOf("Projects and models", models)), 23);
    const people = /<tr><th scope="row" class="name">.*?value="([\d.]+)"/gs;
    assert.deepEqual(valuesOf("People", people).sort(), [11, 12]);
    assert.deepEqual(valuesOf("Models", people).sort(), [16, 7]);
    assert.match(text, /<dt>Tokens<\/dt><dd>18: 3 input, 6 cache reads, 9 thinking<\/dd>/);
    assert.match(text, /Sources of rates.*claude-opus-4-5/s);
  });

  it("has the SHA-256 of the JSON that it offers, which changes with the figures", async () => {
    const [page, file] = [await textOf(await show("2026-11")), await show("2026-11", "format=json")];
    assert.equal(file.kind, "file");
    if (file.kind !== "file") return;
    assert.ok(page.includes(sha256Hex(file.text)));
    const content = JSON.parse(file.text);
    assert.equal(content.totals.spent_pico_usd, String(23n * USD));
    assert.equal(content.days.length, 30);
    assert.equal(content.is_complete, false);
    assert.equal(file.text, ((await show("2026-11", "format=json")) as { text: string }).text);
    const other = await textOf(await show("2026-11", "", { subject: "another" }));
    assert.ok(!other.includes(sha256Hex(file.text)));
  });

  it("shows a model without a price as unpriced, and who pays in the colours and words of other pages", async () => {
    const { usage } = hostWith();
    const change = (answer: UsageAnswer): UsageAnswer => {
      const totals = { ...answer.totals, spent_pico_usd: "0" };
      const unpriced = { ...totals, unpriced_requests: 1 };
      const unknown = { ...totals, plan_usage_pico_usd: "0", unknown_billing_pico_usd: `${3n * USD}` };
      return {
        ...answer,
        totals: { ...totals, plan_usage_pico_usd: `${2n * USD}`, unknown_billing_pico_usd: `${3n * USD}` },
        rows: answer.rows.map((row, n) => ({ ...row, totals: n === 0 ? unpriced : unknown, cells: [] })),
      };
    };
    const readUsage = async (query: UsageQuery) => {
      const answer = await usage.readUsage(query);
      return answer.ok ? { ...answer, value: change(answer.value) } : answer;
    };
    const text = await textOf(await show("2026-11", "", { usage: { ...usage, readUsage } }));
    const [, unpriced = "", unknown = ""] = text.split('<tr class="whole">');
    assert.match(
      unpriced,
      /<td class="num"><span class="warn">unpriced<\/span><\/td><td class="num">–<\/td>/,
    );
    assert.match(unknown, /\$0\.00<\/data><span class="sub"><data value="3">\$3\.00<\/data> unknown billing/);
    assert.match(text, /class="f2"><\/i><bdi class="name">Plan usage, at API prices/);
    assert.match(text, /class="f6"><\/i><bdi class="name">Unknown billing/);
    const days = text.slice(text.indexOf('<table aria-label="Cost per day"'), text.indexOf("</table>"));
    assert.ok(days.includes("Plan usage") && !days.includes("Total"), "spend and plan usage have no sum");
  });

  it("compares a month that has ended with the month before, also by what was used only then", async () => {
    const { usage } = hostWith();
    const ended = { ...usage, now: Date.UTC(2026, 11, 2) };
    const text = await textOf(await show("2026-11", "", { usage: ended }));
    assert.match(
      text,
      /\$23\.00<\/data><\/strong> <span class="quiet"><bdi>\+64%<\/bdi> on \$14\.00 in October 2026</,
    );
    const changesOf = (label: string) => {
      const table = text.split("<table").find((each) => each.includes(`aria-label="${label}"`)) ?? "";
      return [
        ...table.matchAll(/<bdi>([^<]*)<\/bdi>(?:(?!<\/tr>).)*quiet"><bdi>([^<]*)<\/bdi><\/td><\/tr>/gs),
      ].map(([, name, change]) => [name, change]);
    };
    const hostile = "&lt;b&gt;&quot;&#39;&amp;";
    assert.deepEqual(changesOf("Projects and models"), [
      ["apollo", "+20%"],
      ["claude-opus-4-5", "−50%"],
      [hostile, "new"],
      [hostile, "new"],
      ["claude-opus-4-5", "new"],
      ["gone", "−100%"],
      ["gpt-5", "−100%"],
    ]);
    assert.deepEqual(changesOf("Models"), [
      ["claude-opus-4-5", "+60%"],
      [hostile, "new"],
      ["gpt-5", "−100%"],
    ]);
    assert.deepEqual(changesOf("People"), [
      ["ann", "+20%"],
      ["ben", "new"],
      ["cat", "−100%"],
    ]);
    const file = await show("2026-11", "format=json", { usage: ended });
    const content = JSON.parse(file.kind === "file" ? file.text : "");
    assert.equal(content.compared_period.from, "2026-09-30T22:00:00.000Z");
    const spent = (sums: Record<string, string>) => BigInt(sums.spent_pico_usd ?? "") / USD;
    assert.equal(spent(content.compared), 14n);
    for (const rows of [content.projects, content.models, content.people]) {
      const sum = (name: string) =>
        rows.reduce((all: bigint, row: Record<string, never>) => all + spent(row[name] ?? {}), 0n);
      assert.deepEqual([sum("totals"), sum("compared")], [23n, 14n]);
    }
    assert.match(await textOf(await show("2026-10", "", { usage: ended })), /quiet">none in September 2026</);
  });

  it("is compared with nothing while the month lasts, and if the month before is not whole", async () => {
    const { usage } = hostWith();
    const readUsage = async (query: UsageQuery) => {
      const answer = await usage.readUsage(query);
      const isBefore = typeof query.period === "object" && query.period.from === "2026-10-01";
      const clamped = { kind: "clamped", requests: 0, sentence: "Cut.", query: null } as const;
      return answer.ok && isBefore ? { ...answer, value: { ...answer.value, caveats: [clamped] } } : answer;
    };
    for (const change of [{}, { usage: { ...usage, readUsage, now: Date.UTC(2026, 11, 2) } }]) {
      const text = await textOf(await show("2026-11", "", change));
      assert.ok(!text.includes(">Change<") && !text.includes("October 2026"));
      const file = await show("2026-11", "format=json", change);
      assert.equal(JSON.parse(file.kind === "file" ? file.text : "").compared, null);
    }
  });

  it("leads from each caveat to the requests behind it, and from the coverage to its page", async () => {
    const { usage } = hostWith();
    const readUsage = async (query: UsageQuery) => {
      const answer = await usage.readUsage(query);
      if (!answer.ok) return answer;
      const caveats: UsageAnswer["caveats"] = [
        ["unpriced", "2 have no price.", `${answer.value.query}&cost=unpriced`] as const,
        ["not_metered", "3 were not metered.", null] as const,
      ].map(([kind, sentence, rows]) => ({ kind, requests: 2, sentence, query: rows }));
      const coverage = { metered: 7, seen: 10, permille: 700, missing: [], unknown_machines: 0 };
      return { ...answer, value: { ...answer.value, caveats, coverage } };
    };
    const text = await textOf(await show("2026-11", "", { usage: { ...usage, readUsage } }));
    const month = "from=2026-11-01&amp;to=2026-12-01";
    assert.ok(
      text.includes(`2 have no price. <a href="/w/1/requests?${month}&amp;cost=unpriced">Show</a></li>`),
    );
    assert.ok(text.includes(`3 were not metered. <a href="/w/1/coverage?${month}">Show</a></li>`));
    assert.match(
      text,
      /<dt>Coverage<\/dt><dd><a href="\/w\/1\/coverage\?[^>]*>70%<\/a>: 7 of 10 calls<\/dd>/,
    );
  });

  it("has no people on a machine, and accepts only a past month", async () => {
    const machine = await textOf(await show("2026-11", "", { hasPeople: false }));
    assert.ok(!machine.includes('aria-label="People"'));
    for (const month of ["2026-12", "2026-13", "1969-12", "2026-1", "2026-11-01", "x", "2026-00", "../x"]) {
      const page = await show(month);
      assert.equal(page.kind === "page" ? page.status : 0, 404, month);
    }
    assert.match(await textOf(await show("2026-02")), /Statement for February 2026/);
  });
});
