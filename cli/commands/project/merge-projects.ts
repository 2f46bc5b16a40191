import { findUserHome } from "../../../adapters/files/meter-home.ts";
import { formatOrigin, originsByProject } from "../../../core/metering/attribution/list-origins.ts";
import { followMerges } from "../../../core/metering/attribution/project-origin.ts";
import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import { mergeBodyRules } from "../../../daemon/cloud/merge-body-rules.ts";
import { reloadProjects } from "../../daemon/daemon-projects.ts";
import { withStore } from "../../home/open-store.ts";
import { readConfig } from "../../home/read-config.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure, exitCodes } from "../../program/exit-codes.ts";
import { readOrigins } from "../../records/read-origins.ts";
import { describeSynced, readProjectPair } from "./reassign-requests.ts";

/** The options of `meter project merge`. */
export interface MergeProjectsOptions {
  readonly dryRun: boolean;
  readonly projects: readonly string[];
}

/** Moves the past and future requests of a project to another. */
export async function mergeProjects(context: CommandContext, options: MergeProjectsOptions): Promise<void> {
  const { fromProject, toProject: given } = readProjectPair(options.projects);
  const { dryRun } = options;
  await withStore(context.home, { readOnly: dryRun }, async (store) => {
    const target = followMerges(given, store.origins.listMerges());
    // Merging in the other direction ends the earlier merge.
    const toProject = target === fromProject ? given : target;
    await requireSameRules(context, fromProject, toProject);
    const places = originsByProject(readOrigins(store.origins)).get(fromProject) ?? [];
    const period = { from: null, to: null };
    const move = { fromProject, toProject, period, includesLaterCalls: true };
    const moved = store.reassignments.count(move);
    if (moved.requests === 0 && places.length === 0)
      throw new CommandFailure(
        `Project ${fromProject} has no requests and no folder.\nList the projects: meter project list`,
        exitCodes.notFound,
      );
    if (!dryRun) store.reassignments.move(move, Date.now());
    const requests = formatQuantity(moved.requests, "request");
    context.print(`${dryRun ? "Would move" : "Moved"} ${requests} to ${toProject}.`);
    if (moved.synced > 0) context.print(describeSynced(moved.synced));
    if (places.length > 0) {
      context.print(`Future requests from here ${dryRun ? "would belong" : "belong"} to ${toProject} too:`);
      for (const place of places) context.printAsIs(`  ${formatOrigin(place, findUserHome())}`);
    }
    if (!dryRun) context.print("Undo: meter project reassign --undo");
  });
  if (!dryRun) await reloadProjects(context.home);
}

/** Fails if the merge would send to a cloud what the configuration keeps on this machine. */
async function requireSameRules(context: CommandContext, from: string, to: string): Promise<void> {
  const { cloud } = (await readConfig(context.home, context.env)).config;
  const rules = [
    ["requests", "upload", cloud.upload.perProject],
    ["bodies", "bodies.upload", mergeBodyRules(cloud)],
  ] as const;
  for (const [what, key, perProject] of rules)
    if (perProject[from] === false && perProject[to] !== false)
      throw new CommandFailure(
        `The ${what} of ${from} stay on this machine, and those of ${to} do not.
Keep those of ${to} on this machine too: meter cloud privacy set ${key} false --project ${to}`,
      );
}
