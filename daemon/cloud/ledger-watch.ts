import { describeResult } from "../../core/delivery/retry/cloud-result.ts";
import { CHAIN_NAMES } from "../../core/privacy/ledger/chain.ts";
import { compareHeads, type HeadFault, type SavedHeads } from "../../core/privacy/ledger/compare-heads.ts";
import type { Millis } from "../../core/values/time.ts";
import { ledgerHeadsSchema } from "../../core/wire/ledger-heads.ts";
import type { NoteStore } from "../store/port/settings.ts";
import { logTaskCrash } from "../tasks/log-task-crash.ts";
import { httpStatusOf, parseResponse, readConnection, requestCloud } from "./connection.ts";
import type { CloudServicePorts } from "./ports.ts";

/** How often the heads are compared, in milliseconds. */
export const LEDGER_CHECK_MS = 3_600_000;

/** The key of the saved heads. */
const HEADS_KEY = "ledger_heads";

/** What this machine knows about the ledgers of its workspace. */
export interface LedgerWitness {
  readonly workspaceId: string;
  readonly heads: SavedHeads;
  readonly checkedAt: Millis;
  /** The first difference that was found. The heads stay as they were before it. */
  readonly fault: HeadFault | null;
}

/** The result of a comparison. */
export type LedgerCheckResult =
  | { readonly kind: "compared"; readonly witness: LedgerWitness }
  | { readonly kind: "not_connected" }
  /** The cloud is older than this check. */
  | { readonly kind: "unsupported" }
  | { readonly kind: "failed"; readonly httpStatus: number | null; readonly error: string };

/** Compares the heads each hour while this machine is connected. */
export interface LedgerWatch {
  enable(connected: boolean): void;
  stop(): void;
}

/** Reads what this machine knows of the ledgers of a workspace; null if it has not asked yet. */
export function readLedgerWitness(
  notes: Pick<NoteStore, "read">,
  workspaceId: string | null,
): LedgerWitness | null {
  const text = notes.read(HEADS_KEY);
  const witness = text === null ? null : (JSON.parse(text) as LedgerWitness);
  return witness?.workspaceId === workspaceId ? witness : null;
}

/**
 * Compares the heads of the workspace's ledgers with those that this machine saved, and saves the new ones. After a
 * difference, the saved heads stay, so that the fault is shown until `accept` replaces them.
 */
export async function checkLedger(
  ports: Pick<CloudServicePorts, "settings" | "credentials" | "client" | "store" | "clock" | "log">,
  { accept = false }: { readonly accept?: boolean } = {},
): Promise<LedgerCheckResult> {
  const { credentials } = await readConnection(ports);
  if (credentials === null) return { kind: "not_connected" };
  const { notes } = ports.store;
  const before = accept ? null : readLedgerWitness(notes, credentials.workspaceId);
  const places = new URLSearchParams();
  if (before !== null) for (const name of CHAIN_NAMES) places.set(name, String(before.heads[name].seq));
  const response = await requestCloud(ports, credentials, `/v1/daemon/ledger-heads?${places}`);
  const httpStatus = httpStatusOf(response);
  if (httpStatus === 404) return { kind: "unsupported" };
  if (httpStatus !== 200) return { kind: "failed", httpStatus, error: describeResult(response) };
  const stated = parseResponse(response, ledgerHeadsSchema);
  if (stated === null || stated.workspace_id !== credentials.workspaceId)
    return { kind: "failed", httpStatus, error: "no answer: invalid_answer" };
  const fault = before === null ? null : (before.fault ?? compareHeads(before.heads, stated));
  const headOf = (name: (typeof CHAIN_NAMES)[number]) => ({ seq: stated[name].seq, hash: stated[name].hash });
  const witness: LedgerWitness = {
    workspaceId: credentials.workspaceId,
    heads:
      fault !== null && before !== null
        ? before.heads
        : {
            prompt_views: headOf("prompt_views"),
            audit_events: headOf("audit_events"),
            costs: headOf("costs"),
          },
    checkedAt: ports.clock.now(),
    fault,
  };
  notes.write(HEADS_KEY, JSON.stringify(witness));
  if (fault !== null && before?.fault === null) ports.log.error("ledger.changed", { ...fault });
  return { kind: "compared", witness };
}

/** Creates the hourly comparison. A failed one is repeated an hour later. */
export function createLedgerWatch(ports: CloudServicePorts): LedgerWatch {
  let cancel = () => {};
  let isEnabled = false;

  async function check(): Promise<void> {
    await checkLedger(ports).catch((cause) => logTaskCrash(ports.log, "ledger", cause));
    if (isEnabled) setTimer();
  }

  function setTimer(): void {
    cancel();
    cancel = ports.clock.setTimer(LEDGER_CHECK_MS, () => void check());
  }

  return {
    enable(connected) {
      if (connected === isEnabled) return;
      isEnabled = connected;
      cancel();
      if (connected) cancel = ports.clock.setTimer(0, () => void check());
    },
    stop() {
      isEnabled = false;
      cancel();
    },
  };
}
