import type { CommandClass } from "clipanion";

/** A module of commands: each export is one. */
type Commands = Readonly<Record<string, CommandClass>>;

/**
 * Where the commands stand, by their first word, in the order of the help. A word's modules alone are loaded when it is
 * said: all of them together take longer than most commands do.
 */
const modules: readonly (readonly [firstWord: string, load: () => Promise<Commands>])[] = [
  ["init", () => import("./init.ts")],
  ["uninstall", () => import("./uninstall.ts")],
  ["doctor", () => import("./doctor.ts")],
  ["start", () => import("./start.ts")],
  ["stop", () => import("./stop.ts")],
  ["status", () => import("./status.ts")],
  ["run", () => import("./run.ts")],
  ["open", () => import("./open.ts")],
  ["report", () => import("./report.ts")],
  ["explain", () => import("./explain.ts")],
  ["project", () => import("./project.ts")],
  ["bodies", () => import("./bodies.ts")],
  ["cloud", () => import("./cloud/mod.ts")],
  ["sync", () => import("./cloud/sync.ts")],
  ["pricing", () => import("./pricing.ts")],
  ["recompute-costs", () => import("./recompute-costs.ts")],
  ["prune", () => import("./prune.ts")],
  ["wipe", () => import("./wipe.ts")],
];

/** Words that the parser answers by itself. */
const WITHOUT_COMMANDS: ReadonlySet<string | undefined> = new Set(["--version", "-v"]);

/** The commands that a command line may mean: those of its first word, or all where that is no command's. */
export async function commandsFor([firstWord]: readonly string[]): Promise<CommandClass[]> {
  if (WITHOUT_COMMANDS.has(firstWord)) return [];
  const meant = modules.filter(([word]) => word === firstWord);
  const loaded = await Promise.all((meant.length === 0 ? modules : meant).map(([, load]) => load()));
  return [...new Set(loaded.flatMap((commands) => Object.values(commands)))];
}
