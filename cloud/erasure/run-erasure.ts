import type { BodyKeyStore } from "../../core/ports/body-key-store.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { RandomBytes } from "../../core/ports/random.ts";
import type { Sha256 } from "../../core/values/hash.ts";
import { hashText } from "../../core/values/hash-text.ts";
import { newId } from "../new-id.ts";
import {
  beginErasure,
  destroyEndedKeys,
  type ErasedCounts,
  type Erasure,
  type ErasureScope,
  eraseBatch,
  findErasure,
  finishErasure,
} from "../store/erasures.ts";
import type { CloudDatabase } from "../store/open-database.ts";
import type { Task } from "../store/tasks.ts";
import { writeCertificate } from "./certificate.ts";

/** The dependencies of an erasure. */
export interface ErasureParts {
  readonly db: CloudDatabase;
  readonly clock: Pick<Clock, "now">;
  readonly randomBytes: RandomBytes;
  readonly sha256: Sha256;
  /** Null if the server does not encrypt bodies. */
  readonly bodyKeys: BodyKeyStore | null;
}

/** A finished erasure. */
export interface ErasureReport {
  readonly erasureId: string;
  /** The certificate as JSON. */
  readonly certificate: string;
  /** SHA-256 of the certificate's UTF-8, lower-case hex. The audit event has it too. */
  readonly sha256: string;
}

/**
 * Erases the prompts of a scope at once: destroys their keys, deletes the bodies, and blanks what describes them. Small
 * transactions; after an interruption, `continueErasures()` finishes it. Its task stays until the
 * purge job has called `purged`.
 */
export async function erasePrompts(
  parts: ErasureParts,
  scope: ErasureScope,
  actorUserId: string | null,
): Promise<ErasureReport> {
  const erasure = { ...scope, erasureId: newId(parts), actorUserId };
  return await finish(parts, await beginErasure(parts.db, erasure, () => parts.clock.now()));
}

/** Performs an erasure again, in a database that was restored from a backup from before it. */
export async function repeatErasure(
  parts: Omit<ErasureParts, "randomBytes">,
  erasure: Erasure,
): Promise<ErasureReport> {
  return await finish(parts, await beginErasure(parts.db, erasure, () => erasure.before));
}

/**
 * Finishes the interrupted erasures among these tasks, and returns their reports. Of the others, erases the descriptions in records that were
 * being sent during the erasure: their key was read before it began, and they were stored after it. The caller ends the tasks.
 */
export async function continueErasures(
  parts: Omit<ErasureParts, "randomBytes">,
  tasks: readonly Task<"erase_prompts">[],
): Promise<readonly ErasureReport[]> {
  const reports = [];
  for (const task of tasks) {
    const erasure = await findErasure(parts.db, task);
    if (erasure === null) continue;
    if (erasure.isFinished) await eraseRows(parts, erasure);
    else reports.push(await finish(parts, erasure));
  }
  return reports;
}

async function finish(
  { db, clock, sha256, bodyKeys }: Omit<ErasureParts, "randomBytes">,
  erasure: Erasure,
): Promise<ErasureReport> {
  const keyIds = await destroyEndedKeys(db, bodyKeys, erasure, clock.now());
  await eraseRows({ db, clock }, erasure);
  const now = clock.now();
  const certify = (counts: ErasedCounts) => writeCertificate(erasure, { keyIds, counts }, now);
  const hash = (text: string) => hashText(text, sha256);
  const certificate = await finishErasure(db, erasure, certify, hash, now);
  return { erasureId: erasure.erasureId, certificate, sha256: hash(certificate) };
}

async function eraseRows({ db, clock }: Pick<ErasureParts, "db" | "clock">, erasure: Erasure): Promise<void> {
  while ((await eraseBatch(db, erasure, clock.now())) > 0);
}
