import { UsageError } from "clipanion";
import { mergeBodyRules } from "../../../../daemon/cloud/merge-body-rules.ts";
import { readWatermark } from "../../../../daemon/cloud/upload-watermark.ts";
import { withStore } from "../../../home/open-store.ts";
import { readConfig } from "../../../home/read-config.ts";
import type { CommandContext } from "../../../program/command-context.ts";
import { renderBodyDays } from "./render-body-days.ts";

const MAX_DAYS = 3650;

/** The options of `meter cloud bodies status`. */
export interface ShowBodyUploadsOptions {
  readonly days: string;
  readonly json: boolean;
}

/** Shows uploaded and pending bodies by day. */
export async function showBodyUploads(
  context: CommandContext,
  options: ShowBodyUploadsOptions,
): Promise<void> {
  const days = /^\d{1,4}$/.test(options.days) ? Number(options.days) : 0;
  if (days < 1 || days > MAX_DAYS)
    throw new UsageError(`Invalid value for --days: ${options.days}. Expected: 1 to ${MAX_DAYS}.`);
  const { home } = context;
  const { cloud } = (await readConfig(home, context.env)).config;
  const today = new Date();
  const from = new Date(today.getFullYear(), today.getMonth(), today.getDate() - days + 1);
  await withStore(home, { readOnly: true }, async (store) => {
    const uploadFrom = readWatermark(store, cloud.bodies.uploadFrom);
    const found = store.bodyDelivery.days(from.getTime(), { perProject: mergeBodyRules(cloud), uploadFrom });
    const rows = found.map(({ heldBack: held_back, ...row }) => ({ ...row, held_back }));
    const sum = (of: "uploaded" | "pending" | "held_back") => rows.reduce((total, row) => total + row[of], 0);
    const sums = { uploaded: sum("uploaded"), pending: sum("pending"), held_back: sum("held_back") };
    const status = { days, rows, ...sums };
    if (options.json) context.printJson(status);
    else context.print(renderBodyDays(status, context.width));
  });
}
