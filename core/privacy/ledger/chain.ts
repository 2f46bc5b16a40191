/** The fields of every row of a chain: its place and its link to the previous row. */
export interface ChainRow {
  readonly workspace_id: string;
  /** Counts the workspace's rows from 1. */
  readonly seq: number;
  /** The previous row's hash; `GENESIS_HASH` for the first row. */
  readonly prev_hash: string;
  readonly hash: string;
}

/** The end of a chain. A copy stored elsewhere reveals later whether rows were cut off. */
export interface LedgerHead {
  readonly workspace_id: string;
  /** 0 if the workspace has no rows. */
  readonly seq: number;
  readonly hash: string;
}

/** The `prev_hash` of the first row. */
export const GENESIS_HASH = "0".repeat(64);

/** Returns the head of a workspace without rows. */
export function emptyHead(workspaceId: string): LedgerHead {
  return { workspace_id: workspaceId, seq: 0, hash: GENESIS_HASH };
}

/** The names of a workspace's chains, as used in saved heads and verdicts. */
export const CHAIN_NAMES = ["prompt_views", "audit_events", "costs"] as const;

/** The name of one of a workspace's chains. */
export type ChainName = (typeof CHAIN_NAMES)[number];
