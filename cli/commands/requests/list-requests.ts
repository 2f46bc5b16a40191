import { UsageError } from "clipanion";
import { requestJson } from "../../../daemon/api/request-json.ts";
import { requestsCsv } from "../../../daemon/api/requests-csv.ts";
import { withStore } from "../../home/open-store.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { METER_A_PROGRAM } from "../../program/failures.ts";
import { printable } from "../../render/printable.ts";
import { renderRequests } from "./render-requests.ts";
import { nextPageCommand, type RequestFilters, readFilters } from "./request-filters.ts";

/** The options of `meter requests`. */
export interface ListRequestsOptions extends RequestFilters {
  readonly json: boolean;
  readonly csv: boolean;
}

/** The length of an id's prefix at which requests that are minutes apart differ. */
const MIN_ID_LENGTH = 8;

/** Lists requests, the newest first. */
export async function listRequests(context: CommandContext, options: ListRequestsOptions): Promise<void> {
  if (options.json && options.csv) throw new UsageError("--json and --csv can't be combined.");
  const query = readFilters(options, Date.now());
  await withStore(context.home, { readOnly: true }, async ({ records }) => {
    // A command has nothing else to do between two slices.
    const { requests, nextBeforeSeq } = await records.list(query, async () => {});
    const cursor = nextBeforeSeq?.toString() ?? null;
    if (options.json) return context.printJson({ items: requests.map(requestJson), next_cursor: cursor });
    const more = nextBeforeSeq === null ? null : `More requests: ${nextPageCommand(options, nextBeforeSeq)}`;
    if (options.csv) {
      context.stdout.write(requestsCsv(requests.map((each) => withPrintableTexts(requestJson(each)))));
      if (more !== null) context.notice(more);
      return;
    }
    if (records.latestId() === null) return context.print(`No requests.\n${METER_A_PROGRAM}`);
    const ids = records.shortenIds(
      requests.map(({ requestId }) => requestId),
      MIN_ID_LENGTH,
    );
    context.print(renderRequests(requests, ids, more, { width: context.width, utc: options.utc }));
  });
}

/** Replaces the control characters of all texts, which clients and providers determine. */
function withPrintableTexts<T extends object>(item: T): T {
  return Object.fromEntries(
    Object.entries(item).map(([name, value]) => [name, typeof value === "string" ? printable(value) : value]),
  ) as T;
}
