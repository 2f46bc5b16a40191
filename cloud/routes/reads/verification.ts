import type { ChainVerification } from "../../../core/wire/audit.ts";
import { formatInstant } from "../../../core/wire/instant.ts";
import {
  type ChainVerdict,
  verifyWorkspaceLedgers,
  type WorkspaceVerdict,
} from "../../ledger/verify-ledgers.ts";
import type { CloudParts } from "../../ports.ts";
import type { ApiHandlers } from "../api-call.ts";

/** The route that verifies the hash chains. */
export const verificationHandlers = {
  /** Reads every row in pages, so it takes time and little memory. Calls at the same time share one verification. */
  "GET /v1/workspaces/:ws/audit/verification": async ({ parts, workspace, answer }) => {
    const verdict = await verifyOnce(parts, workspace.workspaceId);
    return answer(200, {
      ok: verdict.ok,
      verified_at: formatInstant(parts.clock.now()),
      prompt_views: toWire(verdict.prompt_views),
      audit_events: toWire(verdict.audit_events),
      costs: toWire(verdict.costs),
    });
  },
} satisfies Partial<ApiHandlers>;

/** The verifications that are running, by database and workspace. */
const running = new WeakMap<CloudParts["db"], Map<string, Promise<WorkspaceVerdict>>>();

/** Verifies a workspace's chains, or waits for the verification that is already running. */
async function verifyOnce({ db, sha256 }: CloudParts, workspaceId: string): Promise<WorkspaceVerdict> {
  const ofDatabase = running.get(db) ?? new Map<string, Promise<WorkspaceVerdict>>();
  running.set(db, ofDatabase);
  const shared = ofDatabase.get(workspaceId);
  if (shared !== undefined) return await shared;
  const verification = verifyWorkspaceLedgers(db, workspaceId, null, sha256).finally(() =>
    ofDatabase.delete(workspaceId),
  );
  ofDatabase.set(workspaceId, verification);
  return await verification;
}

function toWire(verdict: ChainVerdict): ChainVerification {
  if (!verdict.ok) {
    const { fault, seq, detail = null } = verdict;
    return { ok: false, fault, seq, detail };
  }
  const { head, erasedRows, outsideChain } = verdict;
  return {
    ok: true,
    rows: head.seq,
    head: head.hash,
    erased_rows: erasedRows,
    outside_chain: outsideChain,
  };
}
