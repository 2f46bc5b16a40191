import { lastSummaryMonday, summaryDays } from "../../core/pricing/view/summary-week.ts";
import {
  DEFAULT_USAGE_QUERY,
  printUsageQuery,
  type UsageQuery,
} from "../../core/pricing/view/usage-query.ts";
import { errorName } from "../../core/values/text/describe-error.ts";
import { type CalendarDate, DAY_MS } from "../../core/values/time.ts";
import { addDays, findZone } from "../../core/values/zone.ts";
import { formatCalendarDate } from "../../core/wire/instant.ts";
import { renderWeeklySummary, SUMMARY_PICTURE } from "../../pages/weekly-summary.ts";
import { collectErrors } from "../collect-errors.ts";
import type { CloudParts } from "../ports.ts";
import { readUsageAnswer } from "../routes/reads/read-usage.ts";
import {
  claimSummary,
  confirmSummary,
  listSubscriptions,
  type Subscription,
  stopSummary,
} from "../store/weekly-summaries.ts";
import { findWorkspaceAccess, type WorkspaceAccess } from "../store/workspaces.ts";
import { drawBars } from "./bar-picture.ts";

/** The rows of the lists in an email. */
const ROWS = 5;

/**
 * Sends every weekly summary that is due, one after the other. Returns how many were sent. If one fails, the others are sent, and the first error
 * is thrown at the end.
 */
export async function sendSummaries(
  parts: CloudParts,
  isStopped: () => boolean = () => false,
): Promise<number> {
  // Later than the Monday of any zone, so nobody is left out.
  const latest = addDays(formatCalendarDate(parts.clock.now() + DAY_MS), 1);
  const { errors, attempt } = collectErrors();
  let sent = 0;
  for (const subscription of await listSubscriptions(parts.db, latest)) {
    if (isStopped()) break;
    await attempt(async () => {
      if (await sendIfDue(parts, subscription)) sent += 1;
    });
  }
  if (errors.length > 0) throw errors[0];
  return sent;
}

async function sendIfDue(parts: CloudParts, subscription: Subscription): Promise<boolean> {
  const { db, accounts, clock, log } = parts;
  const { userId, workspaceId } = subscription;
  const workspace = await findWorkspaceAccess(db, userId, workspaceId);
  if (workspace === null) {
    // A person who was removed gets no more emails, even if they are invited again.
    await stopSummary(db, subscription);
    return false;
  }
  const now = clock.now();
  const monday = lastSummaryMonday(now, zoneOf(workspace));
  if (subscription.sentUntil >= monday) return false;
  const email = (await accounts.getPeople([userId])).get(userId)?.email ?? null;
  if (email === null) return false;
  const token = await claimSummary(db, subscription, monday, now);
  if (token === null) return false;
  try {
    await sendSummary(parts, workspace, { userId, email, token, monday });
  } catch (error) {
    log({ event: "cloud.mail_failed", reason: errorName(error) });
    return false;
  }
  await confirmSummary(db, subscription, monday);
  return true;
}

function zoneOf({ reportingZone }: Pick<WorkspaceAccess, "reportingZone">) {
  const zone = findZone(reportingZone) ?? findZone("UTC");
  if (zone === null) throw new Error("the runtime does not know UTC");
  return zone;
}

/** Returns the Monday on which the latest due summary of a workspace ends. */
export const currentMonday = (
  { clock }: Pick<CloudParts, "clock">,
  workspace: Pick<WorkspaceAccess, "reportingZone">,
): CalendarDate => lastSummaryMonday(clock.now(), zoneOf(workspace));

interface Recipient {
  readonly userId: string;
  readonly email: string;
  readonly token: string;
  readonly monday: CalendarDate;
}

async function sendSummary(
  parts: CloudParts,
  workspace: WorkspaceAccess,
  { userId, email, token, monday }: Recipient,
): Promise<void> {
  const { baseUrl } = parts.config;
  const { workspaceId } = workspace;
  const { from } = summaryDays(monday);
  const week: UsageQuery = {
    ...DEFAULT_USAGE_QUERY,
    ...{ period: { from, to: monday }, tz: workspace.reportingZone, top: ROWS },
  };
  const projects = await readUsageAnswer(parts, workspace, { ...week, by: "project", bucket: "day" });
  const models = await readUsageAnswer(parts, workspace, {
    ...{ ...week, by: "model", compare: "none", bucket: "none" },
  });
  if (!projects.ok || !models.ok) throw new TypeError("the week of a summary has no answer");
  const unsubscribe = `${baseUrl}/unsubscribe?${new URLSearchParams({ workspace: workspaceId, person: userId, token })}`;
  const { subject, text, html } = renderWeeklySummary({
    workspace: workspace.name,
    projects: projects.value,
    models: models.value,
    overview: `${baseUrl}/w/${workspaceId}?${printUsageQuery({ ...week, tz: null, top: DEFAULT_USAGE_QUERY.top })}`,
    unsubscribe,
  });
  const { buckets, compared_series } = projects.value;
  const bars = buckets.map(({ totals }, at) => ({
    value: BigInt(totals.spent_pico_usd),
    before: compared_series[at] == null ? null : BigInt(compared_series[at]),
  }));
  await parts.mail({
    to: email,
    ...{ subject, text, html, unsubscribe },
    picture: {
      id: SUMMARY_PICTURE,
      fileName: `spent-${from}.png`,
      contentType: "image/png",
      bytes: await drawBars(bars),
    },
  });
}
