import type { RestoreState } from "../../core/delivery/restore/restored-cloud.ts";
import { describeResult } from "../../core/delivery/retry/cloud-result.ts";
import type { CloudCredentials } from "../../core/ports/cloud-credentials.ts";
import { CHAIN_NAMES } from "../../core/privacy/ledger/chain.ts";
import {
  compareHeads,
  type DatedHeads,
  type HeadFault,
  headsInBackup,
  keepHeads,
  oldestHeads,
  type SavedHeads,
} from "../../core/privacy/ledger/compare-heads.ts";
import type { Millis } from "../../core/values/time.ts";
import { type LedgerHeads, ledgerHeadsSchema } from "../../core/wire/ledger-heads.ts";
import type { NoteStore } from "../store/port/settings.ts";
import { readNote } from "../store/read-note.ts";
import { logTaskCrash } from "../tasks/log-task-crash.ts";
import { httpStatusOf, parseResponse, readConnection, requestCloud } from "./connection.ts";
import { offerAgain, readRestore, readRestoreAfter, saveRestore } from "./offer-again.ts";
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
  /** Earlier heads. A backup must have those that are older than itself. Older versions did not keep any. */
  readonly kept?: readonly DatedHeads[];
  /** When the backup was made from which the cloud was restored; null or absent if it was not. */
  readonly backupAt?: Millis | null;
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
  const witness = readNote<LedgerWitness>(notes, HEADS_KEY);
  return witness?.workspaceId === workspaceId ? witness : null;
}

type CheckPorts = Pick<CloudServicePorts, "settings" | "credentials" | "client" | "store" | "clock" | "log">;

/**
 * Compares the heads of the workspace's ledgers with those that this machine saved, and saves the new ones. After a
 * difference, the saved heads stay, so that the fault is shown until `accept` replaces them.
 *
 * A cloud that was restored from a backup lacks the rows after it. It must still have those that this machine saw before it. What was
 * sent since is offered again. If all kept heads are later than the stated backup, the oldest of each chain is compared: a
 * difference can then be due to the restore or to a rewritten ledger, and a person decides.
 */
export async function checkLedger(
  ports: CheckPorts,
  { accept = false }: { readonly accept?: boolean } = {},
): Promise<LedgerCheckResult> {
  const { credentials } = await readConnection(ports);
  if (credentials === null) return { kind: "not_connected" };
  const { notes } = ports.store;
  const { workspaceId } = credentials;
  const before = readLedgerWitness(notes, workspaceId);
  const compared = accept ? null : before;
  let asked = await askHeads(ports, credentials, compared?.heads ?? null);
  if ("kind" in asked) return asked;
  const restore = readStatedRestore(ports, credentials, asked);
  let [saved, kept, backupAt] = [compared?.heads ?? null, before?.kept ?? [], before?.backupAt ?? null];
  let isBeforeKept = false;
  if (restore?.backupAt != null) {
    backupAt = restore.backupAt;
    const inBackup = headsInBackup(kept, backupAt);
    isBeforeKept = inBackup === null;
    if (compared?.fault === null) saved = inBackup?.heads ?? oldestHeads(kept, compared.heads);
    kept = inBackup === null ? [] : kept.slice(0, kept.indexOf(inBackup) + 1);
    asked = await askHeads(ports, credentials, saved);
    if ("kind" in asked) return asked;
  }
  const stated = asked;
  const now = ports.clock.now();
  const found = saved === null ? null : compareHeads(saved, stated);
  const fault: HeadFault | null =
    compared?.fault ?? (found !== null && isBeforeKept ? { ...found, fault: "not_comparable" } : found);
  const headOf = (name: (typeof CHAIN_NAMES)[number]) => ({ seq: stated[name].seq, hash: stated[name].hash });
  const statedHeads: SavedHeads = {
    prompt_views: headOf("prompt_views"),
    audit_events: headOf("audit_events"),
    costs: headOf("costs"),
  };
  const witness: LedgerWitness = {
    workspaceId,
    heads: fault === null || saved === null ? statedHeads : saved,
    checkedAt: now,
    fault,
    kept: fault === null ? keepHeads(kept, { at: now, heads: statedHeads }) : kept,
    backupAt,
  };
  notes.write(HEADS_KEY, JSON.stringify(witness));
  if (fault !== null && compared?.fault === null) ports.log.error("ledger.changed", { ...fault });
  // Last: without the new heads, a cloud that is known to be restored would seem to lack rows.
  if (restore !== null) saveRestore(ports, restore);
  await offerAgain(ports, workspaceId);
  return { kind: "compared", witness };
}

/** Returns what the machine knows of a restore that the cloud states; null if it states none that is new. */
function readStatedRestore(
  ports: CheckPorts,
  credentials: CloudCredentials,
  { restored }: LedgerHeads,
): RestoreState | null {
  if (restored === null) return null;
  return readRestoreAfter(ports, credentials, {
    generation: restored.generation,
    backupAt: Date.parse(restored.backup_at),
    restoredAt: Date.parse(restored.restored_at),
    serverTime: Date.parse(restored.server_time),
  });
}

/** Requests the heads, and the hashes of the rows at saved ones. */
async function askHeads(
  ports: CheckPorts,
  credentials: CloudCredentials,
  saved: SavedHeads | null,
): Promise<LedgerHeads | Exclude<LedgerCheckResult, { readonly kind: "compared" }>> {
  const query = new URLSearchParams();
  if (saved !== null) for (const name of CHAIN_NAMES) query.set(name, String(saved[name].seq));
  const generation = readRestore(ports.store.notes, credentials.workspaceId)?.generation;
  if (generation !== undefined) query.set("generation", generation);
  const response = await requestCloud(ports, credentials, `/v1/daemon/ledger-heads?${query}`);
  const httpStatus = httpStatusOf(response);
  if (httpStatus === 404) return { kind: "unsupported" };
  if (httpStatus !== 200) return { kind: "failed", httpStatus, error: describeResult(response) };
  const stated = parseResponse(response, ledgerHeadsSchema);
  if (stated === null || stated.workspace_id !== credentials.workspaceId)
    return { kind: "failed", httpStatus, error: "no answer: invalid_answer" };
  return stated;
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
