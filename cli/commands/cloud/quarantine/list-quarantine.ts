import { withStore } from "../../../home/open-store.ts";
import type { CommandContext } from "../../../program/command-context.ts";
import { renderQuarantine } from "./render-quarantine.ts";

/** The options of `meter cloud quarantine list`. */
export interface ListQuarantineOptions {
  readonly json: boolean;
}

/** Lists records and bodies that the cloud refused. */
export async function listQuarantine(context: CommandContext, options: ListQuarantineOptions): Promise<void> {
  await withStore(context.home, { readOnly: true }, async (store) => {
    const entries = store.quarantine.list();
    if (!options.json) return context.print(renderQuarantine(entries, context.width));
    return context.printJson(
      entries.map((entry) => ({
        kind: entry.kind,
        request_id: entry.requestId,
        direction: entry.direction,
        reason: entry.reason,
        http_status: entry.httpStatus,
        quarantined_at: new Date(entry.quarantinedAt).toISOString(),
      })),
    );
  });
}
