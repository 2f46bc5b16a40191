import * as v from "valibot";

const command = v.object({
  words: v.pipe(v.array(v.string()), v.minLength(1)),
  /** A failure is no failure: what it takes away may be gone already. */
  mayFail: v.optional(v.boolean()),
});

/** One program with its words, run without a shell. */
export type InstallCommand = v.InferOutput<typeof command>;

const step = v.variant("kind", [
  v.object({
    kind: v.literal("file"),
    path: v.string(),
    text: v.string(),
    /** Permission bits of the file. */
    mode: v.number(),
  }),
  v.object({
    kind: v.literal("block"),
    /** A file of the user's, in which lines between two markers are ours. */
    path: v.string(),
    lines: v.array(v.string()),
  }),
  v.object({
    kind: v.literal("variable"),
    name: v.string(),
    value: v.string(),
    /** Where it is set: the session of macOS, or the user's environment in the registry of Windows. */
    scope: v.picklist(["launchd", "registry"]),
  }),
  v.object({
    kind: v.literal("commands"),
    /** Names the step over several runs of `init`. */
    id: v.string(),
    /** What it does, for people. */
    purpose: v.string(),
    do: v.array(command),
    undo: v.array(command),
  }),
]);

/** One thing that `init` does to the machine, as data. */
export type InstallStep = v.InferOutput<typeof step>;

const before = v.object({
  /** The file or variable was there. */
  existed: v.boolean(),
  /** A variable's value, where it had one. */
  value: v.optional(v.string()),
  /** What an earlier run wrote and this one replaces: after a kill either may be there. */
  replaced: v.optional(v.string()),
  /** What stands between the user's own text and the block: the file may not have ended in a line break. */
  separator: v.optional(v.string()),
  /** Folders that had to be made, the outermost first. */
  madeFolders: v.optional(v.array(v.string())),
});

/** How the machine was before a step, as far as the way back needs it. */
export type BeforeStep = v.InferOutput<typeof before>;

const entry = v.object({
  step,
  before,
  /** `intended` is written before the step is taken: a process that was killed then leaves a trace of what it may have done. */
  state: v.picklist(["intended", "done"]),
});

/** A step that was taken, or was about to be. */
export type InstallEntry = v.InferOutput<typeof entry>;

/** The contents of `<meter_home>/installed.json`. */
export const installRecordSchema = v.object({
  format: v.literal(1),
  meter_version: v.string(),
  /** What told the home apart from others of the same user. */
  name: v.string(),
  /** Whether shells and desktop sessions were set up. */
  apps: v.boolean(),
  /** Certificate files that the user's own variables named before ours took their place. */
  trusted_files: v.array(v.string()),
  /** Variables of the installing shell that the daemon needs, such as a company's proxy. */
  daemon_environment: v.record(v.string(), v.string()),
  /** In the order in which they were taken. */
  entries: v.array(entry),
});

/** What `init` did to this machine, in order. */
export type InstallRecord = v.InferOutput<typeof installRecordSchema>;

/** What tells one step from another over several runs: a later run replaces the earlier step of the same key. */
export function stepKey(step: InstallStep): string {
  switch (step.kind) {
    case "file":
    case "block":
      return `${step.kind}:${step.path}`;
    case "variable":
      return `variable:${step.scope}:${step.name}`;
    case "commands":
      return `commands:${step.id}`;
  }
}

const inWords = (commands: readonly InstallCommand[]) =>
  commands.map(({ words }) => words.join(" ")).join(" && ");

/** A step as one line for people. */
export function describeStep(step: InstallStep): string {
  switch (step.kind) {
    case "file":
      return `write ${step.path}`;
    case "block":
      return `add ${step.lines.length + 2} marked lines to ${step.path}`;
    case "variable":
      return `set ${step.name} for ${step.scope === "launchd" ? "this session" : "this user"}`;
    case "commands":
      return step.do.length === 0 ? step.purpose : `${step.purpose}: ${inWords(step.do)}`;
  }
}

/** The way back from a step as one line for people; null where there is nothing to do. */
export function describeUndo({ step, before }: InstallEntry): string | null {
  switch (step.kind) {
    case "file":
      return `remove ${step.path}`;
    case "block":
      return `take the marked lines out of ${step.path}`;
    case "variable":
      return before.value === undefined ? `unset ${step.name}` : `set ${step.name} back to ${before.value}`;
    case "commands":
      return step.undo.length === 0 ? null : inWords(step.undo);
  }
}
