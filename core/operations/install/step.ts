import * as v from "valibot";

const command = v.object({
  words: v.pipe(v.array(v.string()), v.minLength(1)),
  /** A failure is ignored: what the command removes may be gone already. */
  mayFail: v.optional(v.boolean()),
});

/** A program and its arguments, run without a shell. */
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
    /** Lines between two markers in a user's file. */
    path: v.string(),
    lines: v.array(v.string()),
  }),
  v.object({
    kind: v.literal("member"),
    /** A member of the JSON object in another program's settings. */
    path: v.string(),
    name: v.string(),
    /** JSON text. */
    value: v.string(),
  }),
  v.object({
    kind: v.literal("variable"),
    name: v.string(),
    value: v.string(),
    /** Where the variable is set: the macOS session, or the user's environment in the Windows registry. */
    scope: v.picklist(["launchd", "registry"]),
  }),
  v.object({
    kind: v.literal("commands"),
    /** Identifies the step across runs of `init`. */
    id: v.string(),
    /** What the step does, shown to the user. */
    purpose: v.string(),
    do: v.array(command),
    undo: v.array(command),
  }),
]);

/** One change that `init` makes to the machine, as data. */
export type InstallStep = v.InferOutput<typeof step>;

const before = v.object({
  /** Whether the file or variable existed. */
  existed: v.boolean(),
  /** The variable's value, if it had one. */
  value: v.optional(v.string()),
  /** Text of an earlier run that this run replaces. After a kill, either text may be in place. */
  replaced: v.optional(v.string()),
  /** The text added between the user's text and the block, if the file did not end with a line break. */
  separator: v.optional(v.string()),
  /** The text that was inserted into a JSON file; empty if the user had the member before. */
  inserted: v.optional(v.string()),
  /** Folders that were created, outermost first. */
  madeFolders: v.optional(v.array(v.string())),
});

/** The state of the machine before a step, as far as undoing the step needs it. */
export type BeforeStep = v.InferOutput<typeof before>;

const entry = v.object({
  step,
  before,
  /** `intended` is recorded before the step is applied, so that a record remains if the process is killed. */
  state: v.picklist(["intended", "done"]),
});

/** A step that was applied, or was about to be applied. */
export type InstallEntry = v.InferOutput<typeof entry>;

/** The contents of `<meter_home>/installed.json`. */
export const installRecordSchema = v.object({
  format: v.literal(1),
  meter_version: v.string(),
  /** Distinguishes this home from other homes of the same user. */
  name: v.string(),
  /** Whether shells and desktop sessions were set up. */
  apps: v.boolean(),
  /** Certificate files that the user's variables named before the meter replaced them. */
  trusted_files: v.array(v.string()),
  /** Variables of the installing shell that the daemon needs, such as a company's proxy. */
  daemon_environment: v.record(v.string(), v.string()),
  /**
   * The certificate of the authority (PEM) that programs trust since `init`, through the system's list, a browser's or variables.
   * Absent if none does: `meter run` hands out the certificate each time.
   */
  authority: v.optional(v.string()),
  /** In the order in which they were applied. */
  entries: v.array(entry),
});

/** What `init` did to this machine, in order. */
export type InstallRecord = v.InferOutput<typeof installRecordSchema>;

/** Whether `meter init` made the system trust the certificate authority. */
export function isTrustRecorded(record: InstallRecord | null): boolean {
  const entries = record?.entries ?? [];
  return entries.some(
    ({ step, state }) =>
      state === "done" && step.kind === "commands" && /^ca-(?!nss|collect-after)/.test(step.id),
  );
}

/**
 * Whether `meter init` made programs trust the certificate authority: the system, a browser, or those that new shells and
 * sessions start.
 */
export function isAuthorityTrusted(record: InstallRecord): boolean {
  const inBrowser = record.entries.some(
    ({ step, state }) => state === "done" && step.kind === "commands" && step.id.startsWith("ca-nss"),
  );
  return record.apps || inBrowser || isTrustRecorded(record);
}

/** Returns the key of a step. A later run replaces the earlier step with the same key. */
export function stepKey(step: InstallStep): string {
  switch (step.kind) {
    case "file":
    case "block":
      return `${step.kind}:${step.path}`;
    case "member":
      return `member:${step.path}:${step.name}`;
    case "variable":
      return `variable:${step.scope}:${step.name}`;
    case "commands":
      return `commands:${step.id}`;
  }
}

const formatCommands = (commands: readonly InstallCommand[]) =>
  commands.map(({ words }) => words.join(" ")).join(" && ");

/** Describes a step in one line. */
export function describeStep(step: InstallStep): string {
  switch (step.kind) {
    case "file":
      return `write ${step.path}`;
    case "block":
      return `add ${step.lines.length + 2} marked lines to ${step.path}`;
    case "member":
      return `set ${step.name} in ${step.path}`;
    case "variable":
      return `set ${step.name} for ${step.scope === "launchd" ? "this session" : "this user"}`;
    case "commands":
      return step.do.length === 0 ? step.purpose : `${step.purpose}: ${formatCommands(step.do)}`;
  }
}

/** Replaces the user name and password of a proxy's address. */
const hideLogin = (address: string) => address.replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/i, "$1…@");

/** Describes in one line how a step is undone; null if there is nothing to undo. */
export function describeUndo({ step, before }: InstallEntry): string | null {
  switch (step.kind) {
    case "file":
      return `remove ${step.path}`;
    case "block":
      return `remove the marked lines from ${step.path}`;
    case "member":
      return before.inserted === "" ? null : `remove ${step.name} from ${step.path}`;
    case "variable":
      return before.value === undefined
        ? `unset ${step.name}`
        : `restore ${step.name} to ${hideLogin(before.value)}`;
    case "commands":
      return step.undo.length === 0 ? null : formatCommands(step.undo);
  }
}
