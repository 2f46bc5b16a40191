import { hasMember, insertMember, removeMember } from "../../core/operations/install/json-member.ts";
import { blockText, insertBlock, readBlock } from "../../core/operations/install/managed-block.ts";
import { type PlannedStep, putEntry } from "../../core/operations/install/merge-plan.ts";
import {
  type BeforeStep,
  type InstallCommand,
  type InstallEntry,
  type InstallRecord,
  type InstallStep,
  stepKey,
} from "../../core/operations/install/step.ts";
import type { RunProgram } from "./run-program.ts";
import { readVariable, writeVariable } from "./session-variable.ts";
import { asBytes, missingFoldersOf, readBytes, writeBytes } from "./user-file.ts";

/** A step could not be applied. The record lists the steps that were applied before it. */
export class InstallStepError extends Error {
  override name = "InstallStepError";
}

/** The comment in every file that `init` writes, if the format allows comments. */
const INIT_MARK = "Written by `meter init";

/** Runs commands in order. Rejects at the first failure, except of commands with `mayFail`. */
export async function runCommands(run: RunProgram, commands: readonly InstallCommand[]): Promise<void> {
  for (const { words, mayFail } of commands) {
    const { code, stdout, stderr } = await run(words);
    if (code !== 0 && mayFail !== true) {
      const output = stderr.trim() || stdout.trim() || `ended with ${code}`;
      throw new InstallStepError(`${words.join(" ")}: ${output}`);
    }
  }
}

/** Returns the folders that an earlier run created, followed by those that this step has to create. */
function foldersFor(path: string, earlier: BeforeStep | undefined): Pick<BeforeStep, "madeFolders"> {
  const folders = [...(earlier?.madeFolders ?? []), ...missingFoldersOf(path)];
  return folders.length > 0 ? { madeFolders: [...new Set(folders)] } : {};
}

/** Reads the state that is needed to undo the step later. Rejects if the step must not be applied. */
async function readStateBefore(run: RunProgram, { step, earlier }: PlannedStep): Promise<BeforeStep> {
  switch (step.kind) {
    case "file": {
      const text = readBytes(step.path);
      const ours = [earlier?.step, step].some((each) => each?.kind === "file" && asBytes(each.text) === text);
      // If the home was deleted by hand, the record is gone, but files outside the home remain.
      if (text !== null && !ours && !(earlier === null && text.includes(INIT_MARK))) {
        throw new InstallStepError(
          `${step.path} ${earlier === null ? "exists and was not written by meter" : "was changed since the meter wrote it"}. Move it away, then run: meter init`,
        );
      }
      const replaced = earlier?.step.kind === "file" ? { replaced: earlier.step.text } : {};
      const before = earlier?.before ?? { existed: false };
      return { ...before, ...foldersFor(step.path, earlier?.before), ...replaced };
    }
    case "block": {
      const text = readBytes(step.path);
      const edit = insertBlock(text ?? "", step.lines.map(asBytes));
      if (!edit.ok)
        throw new InstallStepError(
          `${step.path} has incomplete or repeated meter markers. Remove the lines between them, then run this command again`,
        );
      const separator = readBlock(text ?? "") === null ? { separator: edit.separator } : {};
      const replaced = earlier?.step.kind === "block" ? { replaced: blockText(earlier.step.lines) } : {};
      const before = earlier?.before ?? { existed: text !== null };
      return { ...before, ...foldersFor(step.path, earlier?.before), ...separator, ...replaced };
    }
    case "member":
      return readMemberBefore(step, earlier);
    case "variable": {
      if (earlier?.step.kind === "variable") return { ...earlier.before, replaced: earlier.step.value };
      const value = await readVariable(run, step.scope, step.name);
      return { existed: value !== null, ...(value !== null && { value }) };
    }
    case "commands":
      return { existed: earlier !== null };
  }
}

type MemberStep = Extract<InstallStep, { kind: "member" }>;

const memberOf = ({ name, value }: MemberStep) => ({ name: asBytes(name), value: asBytes(value) });

/** Returns the file with the member, in place of the one that an earlier run inserted. Throws if the file must not be edited. */
function editMember(step: MemberStep, earlier: PlannedStep["earlier"]): { text: string; inserted: string } {
  let text = readBytes(step.path) ?? "";
  if (earlier?.step.kind === "member") {
    const without = removeMember(text, memberOf(earlier.step), earlier.before.inserted ?? "");
    if (without.ok) text = without.text;
  }
  const edit = insertMember(text, memberOf(step));
  if (edit.ok) return edit;
  throw new InstallStepError(
    edit.reason === "no_object"
      ? `${step.path} is not a JSON object. Correct it, then run this command again`
      : `${step.path} sets ${step.name} to something else. Remove that, then run this command again`,
  );
}

function readMemberBefore(step: MemberStep, earlier: PlannedStep["earlier"]): BeforeStep {
  const { inserted } = editMember(step, earlier);
  const existed = earlier?.before.existed ?? readBytes(step.path) !== null;
  return { existed, inserted, ...foldersFor(step.path, earlier?.before) };
}

async function applyStep(run: RunProgram, { step, earlier, how }: PlannedStep): Promise<void> {
  switch (step.kind) {
    case "file":
      writeBytes(step.path, asBytes(step.text), step.mode, { restrict: true });
      return;
    case "block": {
      const edit = insertBlock(readBytes(step.path) ?? "", step.lines.map(asBytes));
      if (edit.ok) writeBytes(step.path, edit.text, 0o644);
      return;
    }
    case "member":
      writeBytes(step.path, editMember(step, earlier).text, 0o600);
      return;
    case "variable":
      await writeVariable(run, step.scope, step.name, step.value);
      return;
    case "commands":
      if (how === "redo" && earlier?.step.kind === "commands" && step.do.length > 0)
        await runCommands(
          run,
          earlier.step.undo.map(({ words }) => ({ words, mayFail: true })),
        );
      await runCommands(run, step.do);
  }
}

/**
 * Applies the steps of a plan in order. Each is recorded through `save` before the machine is changed. Rejects at the first
 * step that can't be applied.
 */
export async function applySteps(
  plan: readonly PlannedStep[],
  record: InstallRecord,
  ports: { run: RunProgram; save(record: InstallRecord): void; onStep?(step: PlannedStep): void },
): Promise<InstallRecord> {
  let current = record;
  const put = (entry: InstallEntry) => {
    current = { ...current, entries: putEntry(current.entries, entry) };
    ports.save(current);
  };
  for (const planned of plan) {
    if (planned.how === "keep") continue;
    ports.onStep?.(planned);
    const { step } = planned;
    try {
      const before = await readStateBefore(ports.run, planned);
      put({ step, before, state: "intended" });
      await applyStep(ports.run, planned);
      const { replaced: _, ...kept } = before;
      put({ step, before: kept, state: "done" });
    } catch (cause) {
      if (cause instanceof InstallStepError) throw cause;
      throw new InstallStepError((cause as Error).message, { cause });
    }
  }
  return current;
}

/** Returns the `stepKey()`s of recorded steps whose result was changed since. Commands are not checked. */
export async function findDriftedSteps(
  run: RunProgram,
  entries: readonly InstallEntry[],
): Promise<Set<string>> {
  const stale = new Set<string>();
  for (const { step } of entries) if (!(await isApplied(run, step))) stale.add(stepKey(step));
  return stale;
}

async function isApplied(run: RunProgram, step: InstallStep): Promise<boolean> {
  switch (step.kind) {
    case "file":
      return readBytes(step.path) === asBytes(step.text);
    case "block":
      return readBlock(readBytes(step.path) ?? "") === asBytes(blockText(step.lines));
    case "member":
      return hasMember(readBytes(step.path) ?? "", memberOf(step));
    case "variable":
      return (await readVariable(run, step.scope, step.name)) === step.value;
    case "commands":
      return true;
  }
}
