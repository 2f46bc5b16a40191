import type { RequestListQuery, RequestPage } from "./port/records.ts";

/** Where the next page begins. */
type Cursor = Pick<RequestListQuery, "beforeSeq"> & Required<Pick<RequestListQuery, "after">>;

/**
 * Parses the cursor of a list of requests: `seq`, or in a list that is not sorted by time `key.seq`, where `key` is the value that it is
 * sorted by. Returns null if the cursor is invalid.
 */
export function parseListCursor(text: string, sort: RequestListQuery["sort"] = "time"): Cursor | null {
  const [, key, seq] = /^(?:(-?\d{1,18})\.)?(\d{1,15})$/.exec(text) ?? [];
  if (seq === undefined || (key === undefined) !== (sort === "time")) return null;
  return key === undefined
    ? { beforeSeq: Number(seq), after: null }
    : { beforeSeq: null, after: { key: BigInt(key), seq: Number(seq) } };
}

/** Returns the cursor of the next page, or null if this is the last. */
export const nextListCursor = ({ nextBeforeSeq, nextAfter }: RequestPage): string | null =>
  nextAfter === null ? (nextBeforeSeq?.toString() ?? null) : `${nextAfter.key}.${nextAfter.seq}`;
