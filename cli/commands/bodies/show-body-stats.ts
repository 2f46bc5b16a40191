import { formatBytes } from "../../../core/values/text/format-bytes.ts";
import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import { withStore } from "../../home/open-store.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { forPrograms } from "../../render/for-programs.ts";

/** The options of `meter bodies stats`. */
export interface ShowBodyStatsOptions {
  readonly json: boolean;
}

/** Shows how many bodies are stored and how large they are. */
export async function showBodyStats(context: CommandContext, options: ShowBodyStatsOptions): Promise<void> {
  await withStore(context.home, { readOnly: true }, async (store) => {
    const stats = store.bodies.stats();
    const capturing = store.settings.listProjects().filter(({ bodyCapture }) => bodyCapture === true);
    const projects = capturing.map(({ project }) => project);
    if (options.json) return context.printJson(forPrograms({ ...stats, projects }));
    const day = (at: number) => new Date(at).toISOString().slice(0, 10);
    const { oldestAt, newestAt } = stats;
    context.print(
      [
        `bodies      ${stats.bodies} from ${formatQuantity(stats.requests, "request")}, ${formatBytes(stats.sizeBytes)}`,
        `redacted    ${stats.redacted}`,
        `truncated   ${stats.truncated}`,
        `not sent    ${stats.pending}`,
        oldestAt === null || newestAt === null
          ? "captured    never"
          : `captured    ${day(oldestAt)} to ${day(newestAt)} (UTC)`,
        `capture on  ${projects.length === 0 ? "no project" : projects.join(", ")}`,
      ].join("\n"),
    );
  });
}
