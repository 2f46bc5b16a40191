import { Command, Option, UsageError } from "clipanion";
import type { ReportGrouping, ReportRow } from "../../daemon/store/mod.ts";
import { MeterCommand } from "../meter-command.ts";

const groupings = [
  "project",
  "model",
  "provider",
  "day",
  "client",
  "total",
] as const satisfies ReportGrouping[];

export class ReportCommand extends MeterCommand {
  static override paths = [["report"]];
  static override usage = Command.Usage({
    category: "Reports",
    description: "what was used and what it cost",
    details: `
      Costs are exact sums. Requests without a known price are counted as unpriced and are not in the sum; costs that
      providers stated themselves and those that we computed are told apart in --json. Days are local ones, unless
      --utc is given.
    `,
    examples: [
      ["Everything, by project", "meter report"],
      ["The last seven days, by model", "meter report --by model --since 7d"],
      [
        "One project day by day in November",
        "meter report --by day --project web --from 2026-11-01 --to 2026-11-30",
      ],
      ["For a spreadsheet", "meter report --by day --csv"],
    ],
  });

  by = Option.String("--by", "project", { description: groupings.join(", ") });
  since = Option.String("--since", {
    description: "a length of time (24h, 7d), today, yesterday, or a date",
  });
  from = Option.String("--from", { description: "the first day, or an instant (ISO 8601)" });
  to = Option.String("--to", { description: "the last day, or the instant before which it ends" });
  project = Option.String("--project", { description: "only this project" });
  model = Option.String("--model", { description: "only this model" });
  provider = Option.String("--provider", { description: "only this provider" });
  utc = Option.Boolean("--utc", false, { description: "days in UTC" });
  json = Option.Boolean("--json", false, {
    description: "for programs; money in pico-USD as decimal strings",
  });
  csv = Option.Boolean("--csv", false, { description: "for spreadsheets (RFC 4180)" });

  protected override async perform(): Promise<void> {
    const by = groupings.find((each) => each === this.by);
    if (by === undefined) throw new UsageError(`--by takes ${groupings.join(", ")}: ${this.by}`);
    if (this.json && this.csv) throw new UsageError("give --json or --csv, not both");
    const { meterHome } = await import("../../adapters/files/mod.ts");
    const { readPeriod } = await import("../period.ts");
    const { withStore } = await import("../open-store.ts");
    const period = readPeriod(this, Date.now(), this.utc);
    const filters = {
      ...(this.project !== undefined && { project: this.project }),
      ...(this.model !== undefined && { model: this.model }),
      ...(this.provider !== undefined && { provider: this.provider }),
    };
    await withStore(meterHome(this.context.env), { readOnly: true }, async (store) => {
      const days = this.utc ? "utc" : "local";
      const rows = await store.report({ ...period, ...filters, by, days });
      const coverage = Object.keys(filters).length === 0 ? store.readCoverage(period) : null;
      if (this.json) return this.printJson({ by, ...inIsoTime(period), rows: rows.map(toJson), coverage });
      const { renderCsv, renderReport } = await import("../render/report.ts");
      if (this.csv) return this.context.stdout.write(renderCsv(by, rows));
      const [total] = by === "total" ? rows : await store.report({ ...period, ...filters, by: "total" });
      return this.print(renderReport(by, rows, total ?? null, coverage, this.width));
    });
  }
}

function inIsoTime({ from, to }: { from: number | null; to: number | null }) {
  const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  return { from: iso(from), to: iso(to) };
}

/** Snake case and decimal strings, as on the wire. */
function toJson(row: ReportRow) {
  const { tokens, bySource } = row;
  return {
    key: row.key,
    requests: row.requests,
    errors: row.errors,
    unpriced: row.unpriced,
    incomplete: row.incomplete,
    prompt_tokens: tokens.prompt,
    cache_read_tokens: tokens.cacheRead,
    cache_write_tokens: tokens.cacheWrite,
    cache_write_1h_tokens: tokens.cacheWrite1h,
    completion_tokens: tokens.completion,
    thinking_tokens: tokens.thinking,
    cost_pico_usd: row.costPicoUsd,
    by_cost_source: Object.fromEntries(
      Object.entries(bySource).map(([source, share]) => [
        source,
        { requests: share.requests, cost_pico_usd: share.costPicoUsd },
      ]),
    ),
  };
}
