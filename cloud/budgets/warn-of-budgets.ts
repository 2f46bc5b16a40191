import { formatBudgetAmount, usedPercent } from "../../core/budgets/describe-budget.ts";
import type { Accounts } from "../../core/ports/accounts.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { CloudLog } from "../../core/ports/cloud-log.ts";
import type { SendMail } from "../../core/ports/mail.ts";
import { errorName } from "../../core/values/text/describe-error.ts";
import type { Millis } from "../../core/values/time.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import { claimWarnings, confirmWarnings, warningKey } from "../store/budget-warnings.ts";
import { findMachineUser } from "../store/machines.ts";
import { listMembers } from "../store/members.ts";
import type { CloudDatabase } from "../store/open-database.ts";
import { type BudgetStanding, usedOf } from "./budget-standing.ts";

/** What sends a warning. */
export interface WarningParts {
  readonly db: CloudDatabase;
  readonly accounts: Pick<Accounts<Request, Response>, "getPeople">;
  readonly mail: SendMail;
  readonly log: CloudLog;
  readonly clock: Clock;
  readonly baseUrl: string;
}

/** A workspace, as an email names it. */
export interface WarnedWorkspace {
  readonly workspaceId: string;
  readonly name: string;
}

/**
 * Emails a warning for each budget that reached a threshold, once for each threshold, amount and period: to the workspace's
 * administrators, and to the person whose budget it is or who uses the machine. If several thresholds were reached at once, the
 * highest is in the email. `settled` are the warnings that were sent, or tried shortly before. Returns whether nothing failed.
 */
export async function warnOfBudgets(
  parts: WarningParts,
  workspace: WarnedWorkspace,
  standings: readonly BudgetStanding[],
  settled: ReadonlySet<string>,
): Promise<boolean> {
  let isSent = true;
  for (const standing of standings) {
    const { stored, bounds, budget } = standing;
    if (stored.isPaused) continue;
    const used = usedOf(standing);
    const due = budget.thresholds.filter(
      (percent) =>
        used > 0n &&
        used * 100n >= budget.limit * BigInt(percent) &&
        !settled.has(warningKey(stored.budgetId, bounds.from, percent, budget.limit)),
    );
    if (due.length > 0 && !(await warn(parts, workspace, standing, due))) isSent = false;
  }
  return isSent;
}

async function warn(
  parts: WarningParts,
  workspace: WarnedWorkspace,
  standing: BudgetStanding,
  due: readonly number[],
): Promise<boolean> {
  const { workspaceId } = workspace;
  const { stored, bounds, budget } = standing;
  const reached = { budgetId: stored.budgetId, periodFrom: bounds.from, limit: budget.limit };
  const now = parts.clock.now();
  const thresholds = await claimWarnings(parts.db, workspaceId, { ...reached, thresholds: due }, now);
  if (thresholds.length === 0) return true;
  const mail = warningMail(standing, Math.max(...thresholds), workspace, parts.baseUrl);
  const addresses = await recipients(parts, workspaceId, standing);
  const sent = await Promise.allSettled(addresses.map((to) => parts.mail({ to, ...mail })));
  for (const each of sent)
    if (each.status === "rejected") parts.log({ event: "cloud.mail_failed", reason: errorName(each.reason) });
  // Once one of them has the email, it is not sent again.
  const isSent = addresses.length === 0 || sent.some(({ status }) => status === "fulfilled");
  if (isSent) await confirmWarnings(parts.db, workspaceId, { ...reached, thresholds }, now);
  return isSent;
}

async function recipients(
  { db, accounts }: WarningParts,
  workspaceId: string,
  { stored: { subject, target } }: BudgetStanding,
): Promise<readonly string[]> {
  const members = await listMembers(db, workspaceId);
  const person =
    subject === "person"
      ? target
      : subject === "machine" && target !== null
        ? await findMachineUser(db, workspaceId, target)
        : null;
  const ids = members.filter(({ role, userId }) => role === "admin" || userId === person);
  const people = await accounts.getPeople(ids.map(({ userId }) => userId));
  return [...new Set([...people.values()].flatMap(({ email }) => (email === null ? [] : [email])))];
}

/** Returns the email about a threshold. */
function warningMail(
  standing: BudgetStanding,
  threshold: number,
  { workspaceId, name }: WarnedWorkspace,
  baseUrl: string,
): { readonly subject: string; readonly text: string } {
  const { stored, budget, bounds } = standing;
  const used = usedOf(standing);
  const amount = (of: bigint) => formatBudgetAmount(budget.unit, of);
  const state = threshold >= 100 ? "is used up" : `has reached ${threshold} %`;
  const until = bounds.to === null ? "" : ` Its period ends at ${formatTime(bounds.to)}.`;
  const refuses =
    threshold >= 100 && budget.atLimit === "block"
      ? " Calls that it counts are refused. An administrator can lift the budget on the page below."
      : "";
  return {
    subject: `Budget ${stored.name} ${state}`,
    text: `The budget "${stored.name}" of the workspace "${name}" ${state}: ${amount(used)} of ${amount(budget.limit)} (${usedPercent(budget.limit, used)} %).${until}${refuses}\n${baseUrl}/w/${workspaceId}/budgets\n`,
  };
}

const formatTime = (at: Millis): string => `${formatInstant(at).slice(0, 16).replace("T", " ")} UTC`;
