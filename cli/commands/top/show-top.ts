import type { NowResponse } from "../../../daemon/api/now-routes.ts";
import { findDaemon, readToken } from "../../daemon/daemon-process.ts";
import { requestDaemon } from "../../daemon/loopback-client.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure, exitCodes } from "../../program/exit-codes.ts";
import { unexpectedDaemonResponse } from "../../program/failures.ts";
import { type Key, openLiveScreen } from "../../render/live-screen.ts";
import { renderTop } from "./render-top.ts";

/** How often the view is updated, in milliseconds. */
const INTERVAL_MS = 1_000;

/** The height of the view without a terminal. */
const SNAPSHOT_ROWS = 60;

/** The state that keys change. */
interface TopState {
  /** The view that is shown while it is paused; null while it is not. */
  paused: { readonly now: NowResponse | null; readonly at: number } | null;
  /** The latest view. */
  latest: { readonly now: NowResponse | null; readonly at: number };
  /** The first session that is shown. */
  firstSession: number;
}

/** Shows what is happening until the user quits, or once without a terminal. */
export async function showTop(context: CommandContext): Promise<void> {
  const state: TopState = { paused: null, latest: { now: null, at: Date.now() }, firstSession: 0 };
  const isLive = await openLiveScreen(context, {
    intervalMs: INTERVAL_MS,
    async draw(size) {
      if (state.paused === null) state.latest = { now: await requestNow(context.home), at: Date.now() };
      const { now, at } = state.paused ?? state.latest;
      return renderTop(now, {
        ...size,
        at,
        firstSession: state.firstSession,
        isPaused: state.paused !== null,
      });
    },
    key: (key) => handleKey(state, key),
  });
  if (isLive) return;
  const now = await requestNow(context.home);
  if (now === null)
    throw new CommandFailure("The daemon is not running.\nStart it: meter start", exitCodes.notRunning);
  const size = { columns: context.width, rows: SNAPSHOT_ROWS };
  context.print(renderTop(now, { ...size, at: Date.now(), firstSession: 0, isPaused: null }));
}

/** Changes what is shown. */
export function handleKey(state: TopState, key: Key): void {
  if (key === "p") state.paused = state.paused === null ? state.latest : null;
  if (key === "up") state.firstSession = Math.max(0, state.firstSession - 1);
  const sessions = state.latest.now?.detail?.sessions.length ?? 0;
  if (key === "down") state.firstSession = Math.min(Math.max(0, sessions - 1), state.firstSession + 1);
}

/** Returns null if no daemon answers. */
async function requestNow(home: string): Promise<NowResponse | null> {
  const running = await findDaemon(home);
  if (running === null) return null;
  const { status, body } = await requestDaemon(running, "/v1/now?detail=1", readToken(home));
  if (status !== 200) throw unexpectedDaemonResponse(`The daemon answered ${status}: ${body}`);
  return JSON.parse(body) as NowResponse;
}
