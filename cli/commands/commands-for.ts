import type { CommandClass } from "clipanion";

/** A module whose exports are commands. */
type Commands = Readonly<Record<string, CommandClass>>;

/**
 * The modules of the commands by first word, in the order of the help. Only the modules of the given word are loaded:
 * loading all of them takes longer than most commands run.
 */
const modules: readonly (readonly [firstWord: string, load: () => Promise<Commands>])[] = [
  ["init", () => import("./init/init-command.ts")],
  ["uninstall", () => import("./uninstall/uninstall-command.ts")],
  ["doctor", () => import("./doctor/doctor-command.ts")],
  ["self-test", () => import("./self-test/self-test-command.ts")],
  ["start", () => import("./start/start-command.ts")],
  ["stop", () => import("./stop/stop-command.ts")],
  ["status", () => import("./status/status-command.ts")],
  ["run", () => import("./run/run-command.ts")],
  ["provider", () => import("./provider/provider-commands.ts")],
  ["webhook", () => import("./webhook/webhook-commands.ts")],
  ["open", () => import("./open/open-command.ts")],
  ["report", () => import("./report/report-command.ts")],
  ["cost", () => import("./cost/cost-command.ts")],
  ["trailers", () => import("./trailers/trailers-command.ts")],
  ["pr-comment", () => import("./pr-comment/pr-comment-command.ts")],
  ["coverage", () => import("./coverage/coverage-command.ts")],
  ["top", () => import("./top/top-command.ts")],
  ["statusline", () => import("./statusline/statusline-command.ts")],
  ["limits", () => import("./limits/limits-command.ts")],
  ["savings", () => import("./savings/savings-command.ts")],
  ["budget", () => import("./budget/budget-commands.ts")],
  ["requests", () => import("./requests/requests-command.ts")],
  ["sessions", () => import("./sessions/sessions-commands.ts")],
  ["session", () => import("./sessions/sessions-commands.ts")],
  ["export", () => import("./export/export-command.ts")],
  ["explain", () => import("./explain/explain-command.ts")],
  ["import", () => import("./import/import-commands.ts")],
  ["reconcile", () => import("./reconcile/mod.ts")],
  ["project", () => import("./project/project-commands.ts")],
  ["bodies", () => import("./bodies/bodies-commands.ts")],
  ["cloud", () => import("./cloud/mod.ts")],
  ["sync", () => import("./cloud/sync/sync-commands.ts")],
  ["pricing", () => import("./pricing/pricing-commands.ts")],
  ["estimates", () => import("./estimates/estimates-command.ts")],
  ["recompute-costs", () => import("./recompute-costs/recompute-costs-command.ts")],
  ["prune", () => import("./prune/prune-command.ts")],
  ["wipe", () => import("./wipe/wipe-command.ts")],
];

/** Options that the parser handles itself. */
const WITHOUT_COMMANDS: ReadonlySet<string | undefined> = new Set(["--version", "-v"]);

/** Loads the commands that a command line may mean: those of its first word, or all if no command starts with it. */
export async function commandsFor([firstWord]: readonly string[]): Promise<CommandClass[]> {
  if (WITHOUT_COMMANDS.has(firstWord)) return [];
  const meant = modules.filter(([word]) => word === firstWord);
  const loaded = await Promise.all((meant.length === 0 ? modules : meant).map(([, load]) => load()));
  return [...new Set(loaded.flatMap((commands) => Object.values(commands)))];
}
