import { DAY_MS, type Millis } from "../../values/time.ts";

/** A restore of the cloud's database from a backup, as the cloud states it. */
export interface StatedRestore {
  /** A random name of the restored database. Each restore has another one. */
  readonly generation: string;
  /** The cloud's time at the start of the oldest backup that was restored since the generation that the machine knows. */
  readonly backupAt: Millis;
  readonly restoredAt: Millis;
  /** The cloud's time of its answer. */
  readonly serverTime: Millis;
}

/** The workspace that a machine sends to, and since when it has sent to no other. */
export interface Connection {
  readonly workspaceId: string;
  readonly since: Millis;
}

/** What is still to be offered again to a restored cloud. */
export interface Offer {
  /** What was sent at this instant or later is offered again, by the machine's clock. */
  readonly from: Millis;
  /** Where the store continues; null at the beginning. */
  readonly through: number | null;
}

/** What a machine knows about the latest restore of its workspace's cloud. Plain JSON. */
export interface RestoreState {
  readonly workspaceId: string;
  readonly generation: string;
  /** By the machine's clock. Null if the machine was connected after the restore, which does not affect it then. */
  readonly backupAt: Millis | null;
  /** Null once everything was marked to be sent again. */
  readonly offer: Offer | null;
}

/**
 * How much earlier than the backup the offer begins, in milliseconds. It covers a clock that was set in between. What
 * the cloud already has is sent twice and stored once.
 */
export const OFFER_MARGIN_MS: number = DAY_MS;

/**
 * Returns the state after the cloud stated a restore. A restore that is known already changes nothing. Nothing is offered that was
 * sent before the machine was connected to this workspace: another workspace has it.
 */
export function learnRestore(
  before: RestoreState | null,
  stated: StatedRestore,
  connection: Connection,
  now: Millis,
): RestoreState {
  const { workspaceId, since } = connection;
  const known = before?.workspaceId === workspaceId ? before : null;
  if (known?.generation === stated.generation) return known;
  const { generation } = stated;
  const ahead = now - stated.serverTime;
  if (since > stated.restoredAt + ahead) return { workspaceId, generation, backupAt: null, offer: null };
  const backupAt = stated.backupAt + ahead;
  const from = Math.max(since, Math.min(backupAt - OFFER_MARGIN_MS, known?.offer?.from ?? now));
  return { workspaceId, generation, backupAt, offer: { from, through: null } };
}

/** Returns the state after one step of the offer; `through` is where the next one continues, null if there is none. */
export function afterOffer(state: RestoreState, through: number | null): RestoreState {
  const { offer } = state;
  return { ...state, offer: offer === null || through === null ? null : { ...offer, through } };
}
