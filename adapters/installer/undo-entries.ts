import { rmSync } from "node:fs";
import { blockText, type InstallEntry, readBlock, removeBlock } from "../../core/install/mod.ts";
import type { RunWords } from "./run-words.ts";
import { readVariable, writeVariable } from "./session-variable.ts";
import { runCommands } from "./take-steps.ts";
import { asBytes, readBytes, removeEmptyFolders, writeBytes } from "./user-file.ts";

/** What the way back came to. */
export interface Undone {
  readonly entry: InstallEntry;
  /**
   * `undone`: it is as it was before; `left`: it is no longer what the meter made, so it stays; `failed`: it was tried, and
   * can be tried again.
   */
  readonly outcome: "undone" | "left" | "failed";
  /** For people; null where all is well. */
  readonly says: string | null;
}

async function undo(run: RunWords, { step, before }: InstallEntry): Promise<string | null> {
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
        if (!edit.ok) return `the meter's markers in ${step.path} are in disorder`;
        if (edit.text === "" && !before.existed) rmSync(step.path, { force: true });
        else if (edit.text !== text) writeBytes(step.path, edit.text, 0o644);
      }
      removeEmptyFolders(before.madeFolders ?? []);
      return null;
    }
    case "variable": {
      const value = await readVariable(run, step.scope, step.name);
      if (value === null || value === (before.value ?? null)) return null;
      if (value !== step.value && value !== before.replaced) return `${step.name} has another value now`;
      await writeVariable(run, step.scope, step.name, before.value ?? null);
      return null;
    }
    case "commands":
      await runCommands(run, step.undo);
      return null;
  }
}

/**
 * Undoes recorded steps, the last one first. What is no longer as the meter made it is left and named. A step that was only
 * intended is undone as far as it came. `done` is called after each, so that a killed process can go on where it was.
 */
export async function undoEntries(
  entries: readonly InstallEntry[],
  run: RunWords,
  done: (undone: Undone) => void = () => {},
): Promise<Undone[]> {
  const all: Undone[] = [];
  for (const entry of entries.toReversed()) {
    let undone: Undone;
    try {
      const left = await undo(run, entry);
      undone = { entry, outcome: left === null ? "undone" : "left", says: left };
    } catch (cause) {
      // Commands that were not known to be run may have nothing to take back.
      const never = entry.state === "intended" && entry.step.kind === "commands";
      undone = never
        ? { entry, outcome: "undone", says: null }
        : { entry, outcome: "failed", says: (cause as Error).message };
    }
    all.push(undone);
    done(undone);
  }
  return all;
}
