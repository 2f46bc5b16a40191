import type { ActiveBudget } from "../../core/budgets/budget.ts";
import { parseFleetBudget, toMachineBudget } from "../../core/budgets/parse-fleet-budget.ts";
import { isObject } from "../../core/values/json-object.ts";
import type { Millis } from "../../core/values/time.ts";
import { type MachineBudgets, machineBudgetsSchema } from "../../core/wire/fleet-budgets.ts";
import { parseInstant } from "../../core/wire/instant.ts";
import { parseWire } from "../../core/wire/parse.ts";
import type { NoteStore } from "../store/port/settings.ts";
import { readNote } from "../store/read-note.ts";

/** The key of the last statement of the cloud, as JSON. */
const STATED_KEY = "fleet_budgets";

/** The budgets that the cloud last stated. */
export interface StatedBudgets {
  /** The name of the workspace. */
  readonly workspace: string;
  /** The page where its administrators change budgets. */
  readonly address: string;
  /** When this machine received them. */
  readonly at: Millis;
  readonly budgets: MachineBudgets["budgets"];
}

/** Saves the budgets of a workspace in place of the previous ones. Null: none bind this machine any more. */
export function saveFleetBudgets(notes: Pick<NoteStore, "write">, stated: StatedBudgets | null): void {
  notes.write(STATED_KEY, stated === null ? null : JSON.stringify(stated));
}

/**
 * Reads the fleet budgets. Those whose terms this version does not know are left out, as is a statement of another version that can't be
 * read.
 */
export function listFleetBudgets(notes: Pick<NoteStore, "read">): ActiveBudget[] {
  const stated = parseStatement(readNote(notes, STATED_KEY));
  if (stated === null) return [];
  return stated.budgets.flatMap((budget) => toActiveBudget(budget, stated));
}

/** Parses a statement. Null: there is none, or it is damaged. A damaged one must not keep the machine's own budgets from applying. */
function parseStatement(value: unknown): StatedBudgets | null {
  if (!isObject(value)) return null;
  const { workspace, address, at, budgets } = value;
  const parsed = parseWire(machineBudgetsSchema, { budgets });
  if (!parsed.ok || typeof workspace !== "string" || typeof address !== "string") return null;
  return typeof at === "number" ? { workspace, address, at, ...parsed.value } : null;
}

function toActiveBudget(
  stated: MachineBudgets["budgets"][number],
  { workspace, address, at }: Omit<StatedBudgets, "budgets">,
): ActiveBudget[] {
  const { name, amount, period, zone, thresholds, at_limit, reserve, fail } = stated;
  const terms = { name, amount, period, thresholds, at_limit, reserve, fail, ...(zone !== null && { zone }) };
  const parsed = parseFleetBudget(terms, { zone: "UTC" });
  if (!parsed.ok) return [];
  return [
    {
      budget: toMachineBudget(parsed.budget, stated.subject, stated.target),
      isPaused: stated.paused,
      liftedUntil: stated.lifted_until === null ? null : parseInstant(stated.lifted_until),
      fleet: {
        workspace,
        address,
        subject: stated.subject,
        from: parseInstant(stated.period_from) ?? 0,
        elsewhere: BigInt(stated.elsewhere),
        here: BigInt(stated.here),
        statedAt: at,
      },
    },
  ];
}
