import {
  afterOffer,
  type Connection,
  learnRestore,
  type RestoreState,
  type StatedRestore,
} from "../../core/delivery/restore/restored-cloud.ts";
import type { CloudCredentials } from "../../core/ports/cloud-credentials.ts";
import type { NoteStore } from "../store/port/settings.ts";
import { readNote } from "../store/read-note.ts";
import { forgetSentCoverage } from "./coverage-sync.ts";
import { delay } from "./delay.ts";
import { forgetSentReadings } from "./limit-sync.ts";
import type { CloudServicePorts } from "./ports.ts";

/** The key of what this machine knows of the latest restore. */
const RESTORE_KEY = "cloud_restore";

/** The key of the workspace that this machine sends to, and since when. */
const CONNECTION_KEY = "cloud_connection";

type Notes = Pick<NoteStore, "read" | "write">;

/** Saves the workspace of new credentials. Pairing again with the same workspace keeps the instant of the first time. */
export function saveConnection(notes: Notes, before: CloudCredentials | null, next: CloudCredentials): void {
  const isSame = before?.workspaceId === next.workspaceId;
  notes.write(CONNECTION_KEY, JSON.stringify(readConnectionOf(notes, isSame ? before : next)));
}

/** Reads since when the machine sends to the workspace of its credentials. Older versions stored only the credentials. */
function readConnectionOf(
  notes: Pick<NoteStore, "read">,
  { workspaceId, createdAt }: CloudCredentials,
): Connection {
  const stored = readNote<Connection>(notes, CONNECTION_KEY);
  return stored?.workspaceId === workspaceId ? stored : { workspaceId, since: createdAt };
}

/** Reads what this machine knows of the latest restore of the workspace's cloud. */
export function readRestore(notes: Pick<NoteStore, "read">, workspaceId: string): RestoreState | null {
  const state = readNote<RestoreState>(notes, RESTORE_KEY);
  return state?.workspaceId === workspaceId ? state : null;
}

const save = (notes: Notes, state: RestoreState) => notes.write(RESTORE_KEY, JSON.stringify(state));

/** Returns what this machine knows once the cloud has stated a restore. Does not save it. */
export function readRestoreAfter(
  { store: { notes }, clock }: Pick<CloudServicePorts, "store" | "clock">,
  credentials: CloudCredentials,
  stated: StatedRestore,
): RestoreState {
  const before = readRestore(notes, credentials.workspaceId);
  return learnRestore(before, stated, readConnectionOf(notes, credentials), clock.now());
}

/** Saves that the cloud was restored. */
export function saveRestore(
  { store: { notes }, log }: Pick<CloudServicePorts, "store" | "log">,
  state: RestoreState,
): void {
  save(notes, state);
  if (state.offer !== null)
    log.info("cloud.restored", { backup_at: state.backupAt, offered_from: state.offer.from });
}

/**
 * Marks what was sent after the backup to be sent again, in short steps between which calls are metered. After a crash, the next call
 * continues. The cloud stores each record and body once, and what has become local-only since stays on the machine.
 */
export async function offerAgain(
  { store: { notes, delivery }, clock }: Pick<CloudServicePorts, "store" | "clock">,
  workspaceId: string,
): Promise<void> {
  let state = readRestore(notes, workspaceId);
  if (state?.offer == null) return;
  forgetSentCoverage(notes);
  forgetSentReadings(notes);
  for (;;) {
    const { from, through } = state.offer;
    state = afterOffer(state, delivery.offerAgain(from, through));
    save(notes, state);
    if (state.offer === null) return;
    await delay(clock, 0);
  }
}
