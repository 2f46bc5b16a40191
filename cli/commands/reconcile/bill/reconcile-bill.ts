import { UsageError } from "clipanion";
import { explainRequest } from "../../../../core/pricing/explain-request.ts";
import { compareBill } from "../../../../core/pricing/statements/compare-bill.ts";
import { addOwnRecord, type OwnDays } from "../../../../core/pricing/statements/own-usage.ts";
import { type CalendarDate, DAY_MS } from "../../../../core/values/time.ts";
import { formatCalendarDate } from "../../../../core/wire/instant.ts";
import type { Store } from "../../../../daemon/store/port/store.ts";
import { withStore } from "../../../home/open-store.ts";
import { readConfig } from "../../../home/read-config.ts";
import type { CommandContext } from "../../../program/command-context.ts";
import { exitCodes } from "../../../program/exit-codes.ts";
import { readDateOption } from "../../../program/period.ts";
import { openPriceBook } from "../../../records/price-book.ts";
import { BillCollector, type CollectedBill } from "./collect-bill.ts";
import { readStatementFile } from "./read-statement-file.ts";
import { billJson, renderBill } from "./render-bill.ts";

/** The options of `meter reconcile bill`. */
export interface ReconcileBillOptions {
  readonly files: readonly string[];
  readonly api: string | undefined;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly key: string | undefined;
  readonly project: string | undefined;
  readonly all: boolean;
  readonly json: boolean;
}

/** How many records are read at once. */
const PAGE_ROWS = 1_000;

/** Compares a provider's statement with the records. Returns the exit code. */
export async function reconcileBill(context: CommandContext, options: ReconcileBillOptions): Promise<number> {
  const { files, api, project } = options;
  if ((files.length === 0) === (api === undefined))
    throw new UsageError("Name the files of a statement, or a provider with --api.");
  const selection = {
    from: readDateOption("--from", options.from),
    to: readDateOption("--to", options.to),
    key: options.key ?? null,
  };
  const collector = new BillCollector(selection);
  if (api === undefined) {
    for (const file of files)
      await readStatementFile(file, (line, format) => collector.add(file, line, format));
  } else {
    const { readStatementApi } = await import("./read-statement-api.ts");
    await readStatementApi(context, api, selection, (source, line, format) =>
      collector.add(source, line, format),
    );
  }
  const bill = collector.finish();
  const { config } = await readConfig(context.home, context.env);
  const own = await withStore(context.home, { readOnly: true }, async (store) => ({
    ...readOwn(store, openPriceBook(config, store.rates), bill, project),
    prunedBefore: store.logs.prunedBefore(),
  }));
  const comparison = compareBill(bill.days, own.days, bill.format, own.firstDay);
  const { projects, firstDay, prunedBefore } = own;
  const shown = { bill, comparison, projects, isAll: options.all, firstDay, prunedBefore };
  if (options.json) context.printJson(billJson(shown));
  else context.print(renderBill(shown, context.width));
  return comparison.unknownPicoUsd === 0n ? exitCodes.ok : exitCodes.failed;
}

/** Reads our records of the statement's provider and days. */
function readOwn(
  { records }: Pick<Store, "records">,
  book: ReturnType<typeof openPriceBook>,
  { format, from, to }: CollectedBill,
  project: string | undefined,
) {
  const days: OwnDays = new Map();
  const projects = new Map<string, bigint>();
  const period = { from: Date.parse(`${from}T00:00:00Z`), to: Date.parse(`${to}T00:00:00Z`) + DAY_MS };
  for (let afterSeq = 0; ; ) {
    const page = records.read({ ...period, afterSeq, limit: PAGE_ROWS });
    const last = page.at(-1);
    if (last === undefined) break;
    for (const record of page) {
      if (record.provider !== format.provider) continue;
      if (project !== undefined && record.project !== project) continue;
      addOwnRecord(days, record, explainRequest(record, book).priced);
      const cost = record.costPicoUsd ?? 0n;
      projects.set(record.project, (projects.get(record.project) ?? 0n) + cost);
    }
    afterSeq = last.seq;
  }
  return { days, projects, firstDay: findFirstDay(records, format.provider) };
}

/** Returns the day of the first call to the provider through the meter. Null if there is none. */
function findFirstDay(records: Store["records"], provider: string): CalendarDate | null {
  for (let afterSeq = 0; ; ) {
    const page = records.read({ from: null, to: null, afterSeq, limit: PAGE_ROWS });
    const first = page.find((record) => record.provider === provider && record.recordSource !== "logs");
    if (first !== undefined) return formatCalendarDate(first.requestedAt);
    const last = page.at(-1);
    if (last === undefined) return null;
    afterSeq = last.seq;
  }
}
