import { UsageError } from "clipanion";
import { normaliseSlug } from "../../../core/values/slug/normalise-slug.ts";
import { formatCount } from "../../../core/values/text/format-count.ts";
import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import { reloadProjects } from "../../daemon/daemon-projects.ts";
import { withStore } from "../../home/open-store.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure, exitCodes } from "../../program/exit-codes.ts";
import { type PeriodOptions, readPeriod } from "../../program/period.ts";

/** The options of `meter project reassign`. */
export interface ReassignRequestsOptions extends PeriodOptions {
  readonly utc: boolean;
  readonly dryRun: boolean;
  readonly undo: boolean;
  readonly projects: readonly string[];
}

/** Reads the project to move from and the one to move to. */
export function readProjectPair(projects: readonly string[]): {
  readonly fromProject: string;
  readonly toProject: string;
} {
  const [fromProject, given, ...more] = projects;
  if (fromProject === undefined || given === undefined || more.length > 0)
    throw new UsageError("Two projects are needed: the one to move from and the one to move to.");
  const toProject = normaliseSlug(given);
  if (toProject === "")
    throw new UsageError(
      `Invalid project name: ${JSON.stringify(given)}. Expected: at least one letter or digit.`,
    );
  if (toProject === fromProject) throw new UsageError(`Both projects are ${toProject}.`);
  return { fromProject, toProject };
}

/** Says what a move does not change in the cloud. */
export const describeSynced = (synced: number): string =>
  synced === 1
    ? "1 of them was already sent to the cloud and keeps its old project there."
    : `${formatCount(synced)} of them were already sent to the cloud and keep their old project there.`;

/** Moves past requests to another project. */
export async function reassignRequests(
  context: CommandContext,
  options: ReassignRequestsOptions,
): Promise<void> {
  const how = { readOnly: options.dryRun };
  const requests = (n: number) => formatQuantity(n, "request");
  if (options.undo) {
    if (options.projects.length > 0) throw new UsageError("--undo takes no projects.");
    await withStore(context.home, how, async (store) => {
      const last = store.reassignments.last();
      if (last === null) throw new CommandFailure("There is no move to undo.", exitCodes.notFound);
      if (!options.dryRun) store.reassignments.undo();
      context.print(`${options.dryRun ? "Would move" : "Moved"} ${requests(last.requests)} back.`);
    });
    // A merge may have been undone.
    return options.dryRun ? undefined : await reloadProjects(context.home);
  }
  const { fromProject, toProject } = readProjectPair(options.projects);
  const move = { fromProject, toProject, period: readPeriod(options, Date.now(), options.utc) };
  await withStore(context.home, how, async (store) => {
    const moved = options.dryRun
      ? store.reassignments.count(move)
      : store.reassignments.move(move, Date.now());
    if (moved.requests === 0)
      throw new CommandFailure(
        `Project ${fromProject} has no matching requests.\nList the projects: meter project list`,
        exitCodes.notFound,
      );
    context.print(`${options.dryRun ? "Would move" : "Moved"} ${requests(moved.requests)} to ${toProject}.`);
    if (moved.synced > 0) context.print(describeSynced(moved.synced));
    if (!options.dryRun) context.print("Undo: meter project reassign --undo");
  });
}
