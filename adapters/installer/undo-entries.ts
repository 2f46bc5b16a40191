import { rmSync } from "node:fs";
import { removeMember } from "../../core/operations/install/json-member.ts";
import { blockText, readBlock, removeBlock } from "../../core/operations/install/managed-block.ts";
import type { InstallEntry } from "../../core/operations/install/step.ts";
import { runCommands } from "./apply-steps.ts";
import type { RunProgram } from "./run-program.ts";
import { readVariable, writeVariable } from "./session-variable.ts";
import { asBytes, readBytes, removeEmptyFolders, writeBytes } from "./user-file.ts";

/** The result of undoing one recorded step. */
interface UndoResult {
  readonly entry: InstallEntry;
  /**
   * `undone`: the previous state is restored. `left`: it was changed since, so it stays. `failed`: the attempt failed and can
   * be repeated.
   */
  readonly outcome: "undone" | "left" | "failed";
  /** A message for people; null for `undone`. */
  readonly problem: string | null;
}

async function undoStep(run: RunProgram, { step, before }: InstallEntry): Promise<string | null> {
  switch (step.kind) {
    case "file": {
      const text = readBytes(step.path);
      const ours = [step.text, before.replaced].some((each) => each !== undefined && asBytes(each) === text);
      if (text !== null && !ours) return `${step.path} was changed since the meter wrote it`;
      rmSync(step.path, { force: true });
      removeEmptyFolders(before.madeFolders ?? []);
      return null;
    }
    case "block": {
      const text = readBytes(step.path);
      const block = text === null ? null : readBlock(text);
      if (text !== null && block !== null) {
        const ours = [blockText(step.lines), before.replaced].some(
          (each) => each !== undefined && asBytes(each) === block,
        );
        if (!ours) return `the meter's lines in ${step.path} were changed`;
      }
      if (text !== null) {
        const edit = removeBlock(text, before.separator ?? "");
        if (!edit.ok) return `the meter's markers in ${step.path} are incomplete or repeated`;
        if (edit.text === "" && !before.existed) rmSync(step.path, { force: true });
        else if (edit.text !== text) writeBytes(step.path, edit.text, 0o644);
      }
      removeEmptyFolders(before.madeFolders ?? []);
      return null;
    }
    case "member": {
      const text = readBytes(step.path);
      const member = { name: asBytes(step.name), value: asBytes(step.value) };
      const edit = text === null ? null : removeMember(text, member, before.inserted ?? "");
      if (edit !== null && !edit.ok) return `${step.name} in ${step.path} was changed since the meter set it`;
      if (edit !== null && edit.text !== text) {
        const isEmpty = edit.text.trim() === "" || edit.text.trim() === "{}";
        if (isEmpty && !before.existed) rmSync(step.path, { force: true });
        else writeBytes(step.path, edit.text, 0o600);
      }
      removeEmptyFolders(before.madeFolders ?? []);
      return null;
    }
    case "variable": {
      const value = await readVariable(run, step.scope, step.name);
      if (value === null || value === (before.value ?? null)) return null;
      if (value !== step.value && value !== before.replaced)
        return `${step.name} was changed since the meter set it`;
      await writeVariable(run, step.scope, step.name, before.value ?? null);
      return null;
    }
    case "commands":
      await runCommands(run, step.undo);
      return null;
  }
}

/**
 * Undoes recorded steps, last one first. A step whose result was changed since is left in place and reported. A step that was
 * only intended is undone as far as it was applied. `onUndone` is called after each, so that a killed process can resume.
 */
export async function undoEntries(
  entries: readonly InstallEntry[],
  run: RunProgram,
  onUndone: (undone: UndoResult) => void = () => {},
): Promise<UndoResult[]> {
  const all: UndoResult[] = [];
  for (const entry of entries.toReversed()) {
    let undone: UndoResult;
    try {
      const left = await undoStep(run, entry);
      undone = { entry, outcome: left === null ? "undone" : "left", problem: left };
    } catch (cause) {
      // Commands that may never have run may have nothing to undo.
      const never = entry.state === "intended" && entry.step.kind === "commands";
      undone = never
        ? { entry, outcome: "undone", problem: null }
        : { entry, outcome: "failed", problem: (cause as Error).message };
    }
    all.push(undone);
    onUndone(undone);
  }
  return all;
}
