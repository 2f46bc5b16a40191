import { CHAIN_NAMES, type ChainName } from "./chain.ts";

/** The place and hash of the last row of a chain, as a machine saves it. */
export interface ChainHead {
  /** 0 if the chain has no rows. */
  readonly seq: number;
  readonly hash: string;
}

/** The heads of a workspace's chains that a machine saved. */
export type SavedHeads = Readonly<Record<ChainName, ChainHead>>;

/** What the cloud says of its chains: the heads, and the hashes of the rows at the places that were asked for. */
export type StatedHeads = Readonly<Record<ChainName, ChainHead & { readonly asked_hash: string | null }>>;

/** A chain that no longer contains what it contained. */
export interface HeadFault {
  readonly chain: ChainName;
  /** The place of the saved head. */
  readonly seq: number;
  /** `tail_cut`: the chain ends before the saved head. `history_rewritten`: another row is in its place. */
  readonly fault: "tail_cut" | "history_rewritten";
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
