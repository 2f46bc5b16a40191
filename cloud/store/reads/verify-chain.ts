import { sql, type Transaction } from "kysely";
import type { ChainRow, LedgerHead } from "../../../core/privacy/ledger/chain.ts";
import {
  endVerification,
  type LedgerVerdict,
  type RowIntegrity,
  startVerification,
  verifyRow,
} from "../../../core/privacy/ledger/verify-ledger.ts";
import type { CloudSchema } from "../schema.ts";

/** Rows read at once. */
const PAGE_ROWS = 500;

/** A chain to verify. */
export interface ChainSource<Row extends ChainRow> {
  /** The head that was saved outside the database; null if none was. */
  readonly savedHead: LedgerHead | null;
  /** The head that is stored in the database. */
  readonly storedHead: LedgerHead;
  /** Reads the rows after a `seq`, in order; from the first one for null. */
  readAfter(seq: number | null, limit: number): Promise<readonly Row[]>;
  check(row: Row): RowIntegrity;
  /** Compares rows that have passed the chain's check with the data they describe. Returns the first fault. */
  readonly compare?:
    | ((rows: readonly Row[]) => Promise<Extract<LedgerVerdict, { ok: false }> | null>)
    | undefined;
  /** Rows read at once. */
  readonly pageRows?: number;
}

/** Verifies a chain page by page, in the caller's snapshot. */
export async function verifyChain<Row extends ChainRow>(source: ChainSource<Row>): Promise<LedgerVerdict> {
  const { savedHead, storedHead, pageRows = PAGE_ROWS } = source;
  let saved = startVerification(storedHead.workspace_id, savedHead);
  let stored = startVerification(storedHead.workspace_id, storedHead);
  let last: number | null = null;
  for (;;) {
    const rows: readonly Row[] = await source.readAfter(last, pageRows);
    for (const row of rows) {
      const content = source.check(row);
      saved = verifyRow(saved, row, content);
      stored = verifyRow(stored, row, content);
    }
    const fault = saved.broken === null ? await source.compare?.(rows) : null;
    if (fault) return fault;
    last = rows.at(-1)?.seq ?? null;
    if (rows.length < pageRows || saved.broken !== null) break;
  }
  const verdict = endVerification(saved);
  if (!verdict.ok) return verdict;
  const beside = endVerification(stored);
  if (!beside.ok) return beside;
  // Rows after the stored head were not appended by this program.
  if (verdict.head.seq > storedHead.seq) {
    return { ok: false, fault: "out_of_sequence", seq: storedHead.seq + 1 };
  }
  return verdict;
}

/** Counts the rows of a table that are not part of its chain. */
export async function countOutsideChain(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  table: "audit_events",
): Promise<number> {
  const { rows } = await sql<{ n: string }>`select count(*) as n from ${sql.table(table)}
    where workspace_id = ${workspaceId}::uuid and seq is null`.execute(trx);
  return Number(rows[0]?.n ?? 0);
}
