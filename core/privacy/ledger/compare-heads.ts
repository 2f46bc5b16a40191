import { DAY_MS, HOUR_MS, type Millis } from "../../values/time.ts";
import { CHAIN_NAMES, type ChainName } from "./chain.ts";

/** The place and hash of the last row of a chain, as a machine saves it. */
export interface ChainHead {
  /** 0 if the chain has no rows. */
  readonly seq: number;
  readonly hash: string;
}

/** The heads of a workspace's chains that a machine saved. */
export type SavedHeads = Readonly<Record<ChainName, ChainHead>>;

/** What the cloud states about its chains: the heads, and the hashes of the rows at the requested places. */
export type StatedHeads = Readonly<Record<ChainName, ChainHead & { readonly asked_hash: string | null }>>;

/** A chain that no longer contains what it contained. */
export interface HeadFault {
  readonly chain: ChainName;
  /** The place of the saved head. */
  readonly seq: number;
  /**
   * `tail_cut`: the chain ends before the saved head. `history_rewritten`: another row is in its place. `not_comparable`: one of both,
   * after the cloud stated a restore from a backup that is older than all saved heads.
   */
  readonly fault: "tail_cut" | "history_rewritten" | "not_comparable";
}

/**
 * Compares the saved heads with what the cloud states. A chain only grows, so the row at the saved head must still have its
 * hash. Returns the first chain that differs; null if none does, and then the stated heads replace the saved ones.
 */
export function compareHeads(saved: SavedHeads, stated: StatedHeads): HeadFault | null {
  for (const chain of CHAIN_NAMES) {
    const { seq, hash } = saved[chain];
    if (seq === 0) continue;
    const now = stated[chain];
    if (now.seq < seq) return { chain, seq, fault: "tail_cut" };
    const found = now.seq === seq ? now.hash : now.asked_hash;
    if (found !== hash) return { chain, seq, fault: "history_rewritten" };
  }
  return null;
}

/** Heads that a machine saved, and when. */
export interface DatedHeads {
  readonly at: Millis;
  readonly heads: SavedHeads;
}

/** How many days of heads a machine keeps. */
const KEPT_DAYS = 32;

/** Returns the heads to keep after those of an instant were saved: the first of each day, of the last days. */
export function keepHeads(kept: readonly DatedHeads[], added: DatedHeads): readonly DatedHeads[] {
  const last = kept.at(-1);
  if (last !== undefined && added.at - last.at < DAY_MS) return kept;
  return [...kept, added].slice(-KEPT_DAYS);
}

/** How long before a backup heads were saved that the backup must have, in milliseconds. It covers clocks that differ. */
const BACKUP_MARGIN_MS = HOUR_MS;

/** Returns the latest heads that a backup must have; null if none is old enough. Later rows can be missing after its restore. */
export function headsInBackup(kept: readonly DatedHeads[], backupAt: Millis): DatedHeads | null {
  return kept.findLast(({ at }) => at <= backupAt - BACKUP_MARGIN_MS) ?? null;
}

/** Returns the oldest known head of each chain: the first that is kept and has rows, otherwise the latest. */
export function oldestHeads(kept: readonly DatedHeads[], latest: SavedHeads): SavedHeads {
  const oldest = (name: ChainName) =>
    kept.find(({ heads }) => heads[name].seq > 0)?.heads[name] ?? latest[name];
  return {
    prompt_views: oldest("prompt_views"),
    audit_events: oldest("audit_events"),
    costs: oldest("costs"),
  };
}
