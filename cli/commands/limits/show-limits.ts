import { UsageError } from "clipanion";
import { sharesJson } from "../../../daemon/api/limit-routes.ts";
import type { LimitView } from "../../../daemon/limits/limit-views.ts";
import { readShares, SHARE_GROUPS, type ShareGroup } from "../../../daemon/limits/read-shares.ts";
import { readLimits } from "../../daemon/read-limits.ts";
import { withStore } from "../../home/open-store.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { openLiveScreen } from "../../render/live-screen.ts";
import { type LimitShares, renderLimits, renderShares } from "./render-limits.ts";

/** The options of `meter limits`. */
export interface ShowLimitsOptions {
  readonly watch: boolean;
  readonly by: string | undefined;
  readonly json: boolean;
}

/** How often `--watch` updates the list, in milliseconds. */
const WATCH_INTERVAL_MS = 2_000;

/** Shows the limits of accounts once, or until the user quits. */
export async function showLimits(context: CommandContext, options: ShowLimitsOptions): Promise<void> {
  const by = readGroup(options.by);
  if (options.watch && !options.json) {
    const isLive = await openLiveScreen(context, {
      intervalMs: WATCH_INTERVAL_MS,
      draw: async ({ columns }) => `${await renderAll(context, by, columns)}\n\nq quits`,
    });
    if (isLive) return;
  }
  if (!options.json) return context.print(await renderAll(context, by, context.width));
  const limits = await readLimits(context.home);
  const shares = by === null ? null : await readAllShares(context, limits, by);
  const sharesOf = ({ id }: LimitView) => {
    const found = shares?.find(({ limit }) => limit.id === id);
    return found === undefined || by === null ? {} : { shares: sharesJson(by, found.divided) };
  };
  context.printJson({ limits: limits.map((limit) => ({ ...limit, ...sharesOf(limit) })) });
}

function readGroup(by: string | undefined): ShareGroup | null {
  if (by === undefined) return null;
  const group = SHARE_GROUPS.find((each) => each === by);
  if (group === undefined)
    throw new UsageError(`Invalid value for --by: ${by}. Expected: ${SHARE_GROUPS.join(", ")}.`);
  return group;
}

async function renderAll(context: CommandContext, by: ShareGroup | null, width: number): Promise<string> {
  const limits = await readLimits(context.home);
  const table = renderLimits(limits, Date.now(), width);
  if (by === null || limits.length === 0) return table;
  return `${table}\n\n${renderShares(await readAllShares(context, limits, by), by, width)}`;
}

/** Divides the current windows whose use the provider states. */
async function readAllShares(
  { home }: CommandContext,
  limits: readonly LimitView[],
  by: ShareGroup,
): Promise<readonly LimitShares[]> {
  const current = limits.filter(
    ({ is_over, used_percent, window }) => !is_over && used_percent !== null && window !== "rate",
  );
  return await withStore(home, { readOnly: true }, async (store) => {
    const stored = store.limits.list();
    const all: LimitShares[] = [];
    for (const limit of current) {
      const window = stored.find(({ id }) => id === limit.id);
      if (window === undefined) continue;
      const divided = await readShares(store, window, by, () => Promise.resolve());
      all.push({ limit, divided });
    }
    return all;
  });
}
