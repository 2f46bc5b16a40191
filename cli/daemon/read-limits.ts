import type { LimitView } from "../../daemon/limits/limit-views.ts";
import { withStore } from "../home/open-store.ts";
import { findDaemon, readToken } from "./daemon-process.ts";
import { requestDaemon } from "./loopback-client.ts";

/** Reads the limits from the daemon, or from the database if it does not run. */
export async function readLimits(home: string): Promise<readonly LimitView[]> {
  return (await requestLimits(home)) ?? (await readStoredLimits(home));
}

/** Returns null if no daemon answers, or if it is of a version without limits. */
async function requestLimits(home: string): Promise<readonly LimitView[] | null> {
  const running = await findDaemon(home);
  if (running === null) return null;
  try {
    const { status, body } = await requestDaemon(running, "/v1/limits", readToken(home));
    return status === 200 ? (JSON.parse(body) as { limits: LimitView[] }).limits : null;
  } catch {
    return null;
  }
}

async function readStoredLimits(home: string): Promise<readonly LimitView[]> {
  const { readLimitViews } = await import("../../daemon/limits/limit-views.ts");
  return await withStore(home, { readOnly: true }, async ({ limits }) => readLimitViews(limits, Date.now()));
}
