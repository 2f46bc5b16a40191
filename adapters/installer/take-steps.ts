import {
  type BeforeStep,
  blockText,
  type InstallCommand,
  type InstallEntry,
  type InstallRecord,
  type InstallStep,
  insertBlock,
  type PlannedStep,
  putEntry,
  readBlock,
  stepKey,
} from "../../core/install/mod.ts";
import type { RunWords } from "./run-words.ts";
import { readVariable, writeVariable } from "./session-variable.ts";
import { asBytes, missingFoldersOf, readBytes, writeBytes } from "./user-file.ts";

/** A step that could not be taken. What was done before stands in the record. */
export class InstallStepError extends Error {
  override name = "InstallStepError";
}

/** What stands in every file that `init` writes where a comment can stand. */
const OURS = "Written by `meter init";

/** Runs commands in order; rejects at the first that fails and may not. */
export async function runCommands(run: RunWords, commands: readonly InstallCommand[]): Promise<void> {
  for (const { words, mayFail } of commands) {
    const { code, stdout, stderr } = await run(words);
    if (code !== 0 && mayFail !== true) {
      const said = stderr.trim() || stdout.trim() || `ended with ${code}`;
      throw new InstallStepError(`${words.join(" ")}: ${said}`);
    }
  }
}

/** Folders that the step has to make, after those that an earlier run made. */
function foldersFor(path: string, earlier: BeforeStep | undefined): Pick<BeforeStep, "madeFolders"> {
  const folders = [...(earlier?.madeFolders ?? []), ...missingFoldersOf(path)];
  return folders.length > 0 ? { madeFolders: [...new Set(folders)] } : {};
}

/** How things are before the step, as far as the way back needs it. Rejects where the step must not be taken. */
async function lookBefore(run: RunWords, { step, earlier }: PlannedStep): Promise<BeforeStep> {
  switch (step.kind) {
    case "file": {
      const text = readBytes(step.path);
      const ours = [earlier?.step, step].some((each) => each?.kind === "file" && asBytes(each.text) === text);
      // A home that was deleted by hand took its record with it, but not what stands outside.
      if (text !== null && !ours && !(earlier === null && text.includes(OURS))) {
        throw new InstallStepError(
          `${step.path} ${earlier === null ? "is there and is not the meter's" : "was changed since the meter wrote it"}: move it away, then run meter init again`,
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
          `${step.path} has the meter's markers in disorder: take the lines between them out by hand`,
        );
      const separator = readBlock(text ?? "") === null ? { separator: edit.separator } : {};
      const replaced = earlier?.step.kind === "block" ? { replaced: blockText(earlier.step.lines) } : {};
      const before = earlier?.before ?? { existed: text !== null };
      return { ...before, ...foldersFor(step.path, earlier?.before), ...separator, ...replaced };
    }
    case "variable": {
      if (earlier?.step.kind === "variable") return { ...earlier.before, replaced: earlier.step.value };
      const value = await readVariable(run, step.scope, step.name);
      return { existed: value !== null, ...(value !== null && { value }) };
    }
    case "commands":
      return { existed: earlier !== null };
  }
}

async function perform(run: RunWords, { step, earlier, how }: PlannedStep): Promise<void> {
  switch (step.kind) {
    case "file":
      writeBytes(step.path, asBytes(step.text), step.mode);
      return;
    case "block": {
      const edit = insertBlock(readBytes(step.path) ?? "", step.lines.map(asBytes));
      if (edit.ok) writeBytes(step.path, edit.text, 0o644);
      return;
    }
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
 * Takes the steps of a plan, one after the other. Each is in the record, by way of `save`, before the machine is touched.
 * Rejects at the first that can't be taken.
 */
export async function takeSteps(
  plan: readonly PlannedStep[],
  record: InstallRecord,
  ports: { run: RunWords; save(record: InstallRecord): void; told?(step: PlannedStep): void },
): Promise<InstallRecord> {
  let current = record;
  const put = (entry: InstallEntry) => {
    current = { ...current, entries: putEntry(current.entries, entry) };
    ports.save(current);
  };
  for (const planned of plan) {
    if (planned.how === "keep") continue;
    ports.told?.(planned);
    const { step } = planned;
    try {
      const before = await lookBefore(ports.run, planned);
      put({ step, before, state: "intended" });
      await perform(ports.run, planned);
      const { replaced: _, ...kept } = before;
      put({ step, before: kept, state: "done" });
    } catch (cause) {
      if (cause instanceof InstallStepError) throw cause;
      throw new InstallStepError((cause as Error).message, { cause });
    }
  }
  return current;
}

/** Which recorded steps are no longer on the machine as they were recorded, by `stepKey()`. Commands are not looked at. */
export async function findStale(run: RunWords, entries: readonly InstallEntry[]): Promise<Set<string>> {
  const stale = new Set<string>();
  for (const { step } of entries) if (!(await isInPlace(run, step))) stale.add(stepKey(step));
  return stale;
}

async function isInPlace(run: RunWords, step: InstallStep): Promise<boolean> {
  switch (step.kind) {
    case "file":
      return readBytes(step.path) === asBytes(step.text);
    case "block":
      return readBlock(readBytes(step.path) ?? "") === asBytes(blockText(step.lines));
    case "variable":
      return (await readVariable(run, step.scope, step.name)) === step.value;
    case "commands":
      return true;
  }
}
