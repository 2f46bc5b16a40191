import { CHAIN_NAMES } from "../../../../core/privacy/ledger/chain.ts";
import { formatQuantity } from "../../../../core/values/text/format-quantity.ts";
import { describeLedgerFault, describeRestore } from "../../../../daemon/cloud/describe-ledger-fault.ts";
import type { LedgerWitness } from "../../../../daemon/cloud/ledger-watch.ts";
import { withCloud } from "../../../cloud/cloud-control.ts";
import type { CommandContext } from "../../../program/command-context.ts";
import { exitCodes } from "../../../program/exit-codes.ts";
import { cloudUnreachable, notConnected } from "../../../program/failures.ts";

/** The options of `meter cloud ledger`. */
export interface CheckLedgersOptions {
  readonly accept: boolean;
  readonly json: boolean;
}

/** Compares the heads of the cloud's ledgers with those that this machine saved. */
export async function checkLedgers(context: CommandContext, options: CheckLedgersOptions): Promise<number> {
  return await withCloud(context, async (cloud) => {
    const result = await cloud.checkLedger(options);
    if (result.kind === "not_connected") throw notConnected();
    if (result.kind === "failed") throw cloudUnreachable(result.error);
    if (result.kind === "unsupported") {
      context.print("This cloud does not show its ledgers. It is older than this version of the meter.");
      return exitCodes.failed;
    }
    const { witness } = result;
    if (options.json) context.printJson(toHeadsFile(witness));
    else context.print(renderWitness(witness));
    return witness.fault === null ? exitCodes.ok : exitCodes.failed;
  });
}

/** The format of `meter-cloud ledger verify --head`. A machine does not know how many rows are outside a chain. */
function toHeadsFile({ workspaceId, heads }: LedgerWitness) {
  const entries = CHAIN_NAMES.map((name) => [name, { ...heads[name], outside_chain: null }]);
  return { workspace_id: workspaceId, ...Object.fromEntries(entries) };
}

const TITLES = { prompt_views: "Prompt views", audit_events: "Audit events", costs: "Costs" } as const;

function renderWitness({ heads, fault, backupAt }: LedgerWitness): string {
  const lines = CHAIN_NAMES.map((name) => {
    const { seq, hash } = heads[name];
    return `${TITLES[name]}: ${seq === 0 ? "no rows" : `${formatQuantity(seq, "row")}, ${hash.slice(0, 16)}…`}`;
  });
  const restore = backupAt == null ? [] : [describeRestore(backupAt)];
  if (fault === null)
    return [...restore, "The cloud's ledgers have only grown since they were last compared.", ...lines].join(
      "\n",
    );
  return [
    describeLedgerFault(fault),
    ...restore,
    fault.fault === "not_comparable"
      ? "The previous hashes are kept. Ask the people who run the cloud whether they restored that backup, and accept only if they did."
      : "The previous hashes are kept. Ask the people who run the cloud; they can check with: meter-cloud ledger verify",
    "Accept the cloud's current ledgers: meter cloud ledger --accept",
    ...lines,
  ].join("\n");
}
