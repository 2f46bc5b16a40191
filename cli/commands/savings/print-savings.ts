import { DEFAULT_USAGE_QUERY, type UsageQuery, withFilter } from "../../../core/pricing/view/usage-query.ts";
import { formatCount, UNKNOWN } from "../../../core/values/text/format-count.ts";
import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import type { SavingsAnswer } from "../../../core/wire/savings.ts";
import { readSavingsAnswer } from "../../../daemon/api/read-usage.ts";
import { formatShare } from "../../../pages/figures.ts";
import { withStore } from "../../home/open-store.ts";
import { readConfig } from "../../home/read-config.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure, exitCodes } from "../../program/exit-codes.ts";
import { type PeriodOptions, readPeriod } from "../../program/period.ts";
import { toUsagePeriod } from "../../program/usage-period.ts";
import { openPriceBook } from "../../records/price-book.ts";
import { fixedUsd } from "../../render/report.ts";
import { renderTable } from "../../render/table.ts";
import { wrapLine } from "../../render/wrap.ts";

/** The options of `meter savings`. */
export interface SavingsOptions extends PeriodOptions {
  readonly project: string | undefined;
  readonly model: string | undefined;
  readonly utc: boolean;
  readonly json: boolean;
}

/** Prints what could cost less, and what prompt caches saved. */
export async function printSavings(context: CommandContext, options: SavingsOptions): Promise<void> {
  const now = Date.now();
  const query = toQuery(options, now);
  const { config } = await readConfig(context.home, context.env);
  await withStore(context.home, { readOnly: true }, async (store) => {
    const result = await readSavingsAnswer(
      {
        store,
        clock: { now: () => now },
        turn: async () => {},
        prices: () => openPriceBook(config, store.rates),
      },
      query,
    );
    if (!result.ok)
      throw new CommandFailure(`Could not read the savings: ${result.detail}.`, exitCodes.usage);
    if (options.json) return context.printJson(result.value);
    context.print(renderSavings(result.value, context.width));
  });
}

function toQuery({ project, model, utc, ...options }: SavingsOptions, now: number): UsageQuery {
  const period = toUsagePeriod(readPeriod(options, now, utc), now);
  let query: UsageQuery = { ...DEFAULT_USAGE_QUERY, period, tz: utc ? "UTC" : null };
  if (project !== undefined) query = withFilter(query, "project", project);
  return model === undefined ? query : withFilter(query, "model", model);
}

function renderSavings(savings: SavingsAnswer, width: number): string {
  const { period, tz, requests, findings, more_findings } = savings;
  const title = `${period.label} (${tz})`;
  if (requests === 0) return `${title}\nNo requests.`;
  const list =
    findings.length === 0
      ? "No savings were found."
      : renderTable(
          [
            { title: "finding", shrink: true },
            { title: "project", shrink: true },
            { title: "model", shrink: true },
            { title: "requests", align: "right" },
            { title: "spent", align: "right" },
            { title: "could save", align: "right" },
          ],
          findings.map(({ kind, project, model, requests: count, cost_pico_usd, saving_pico_usd }) => [
            kind.replaceAll("_", " "),
            project ?? UNKNOWN,
            model,
            formatCount(count),
            fixedUsd(BigInt(cost_pico_usd)),
            saving_pico_usd === null ? UNKNOWN : fixedUsd(BigInt(saving_pico_usd)),
          ]),
          width,
        );
  return [
    [title, ...describeCaches(savings)].map((line) => wrapLine(line, width)).join("\n"),
    list,
    ...(more_findings === 0 ? [] : [`${formatQuantity(more_findings, "more finding")}.`]),
  ].join("\n\n");
}

function describeCaches({ cache, repeats }: SavingsAnswer): string[] {
  const { read_tokens, write_tokens, fresh_tokens, uncounted_requests } = cache;
  const input = (read_tokens ?? 0) + (write_tokens ?? 0) + (fresh_tokens ?? 0);
  return [
    `Caches saved ${fixedUsd(BigInt(cache.saved_pico_usd))}: reads saved ${fixedUsd(BigInt(cache.reads_saved_pico_usd))}, writes cost ${fixedUsd(BigInt(cache.writes_cost_pico_usd))} more than fresh input.`,
    ...(cache.plan_saved_pico_usd === "0"
      ? []
      : [
          `For calls that a plan covers, caches saved ${fixedUsd(BigInt(cache.plan_saved_pico_usd))} at API prices. This does not lower a bill.`,
        ]),
    ...(input === 0 ? [] : [`${formatShare(read_tokens ?? 0, input)} of the input tokens came from caches.`]),
    ...(uncounted_requests === 0
      ? []
      : [
          `${formatQuantity(uncounted_requests, "request is", "requests are")} not counted in these amounts: a plan may have paid some of them, or their price is unknown.`,
        ]),
    ...(repeats.since === null
      ? []
      : [`Only the newest ${formatCount(repeats.searched)} requests were searched for repeated prompts.`]),
  ];
}
