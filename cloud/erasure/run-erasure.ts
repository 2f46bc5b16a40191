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
  finishErasure,
  listUnfinishedErasures,
} from "../store/erasures.ts";
import type { CloudDatabase } from "../store/open-database.ts";
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
 * transactions; after an interruption, `continueErasures()` finishes it.
 */
export async function erasePrompts(
  parts: ErasureParts,
  scope: ErasureScope,
  actorUserId: string | null,
): Promise<ErasureReport> {
  const erasure = await beginErasure(parts.db, scope, newId(parts), () => parts.clock.now());
  return await finish(parts, erasure, actorUserId);
}

/** Finishes the erasures that were interrupted. Returns their reports. */
export async function continueErasures(
  parts: Omit<ErasureParts, "randomBytes">,
): Promise<readonly ErasureReport[]> {
  const reports = [];
  for (const erasure of await listUnfinishedErasures(parts.db)) {
    reports.push(await finish(parts, erasure, null));
  }
  return reports;
}

async function finish(
  { db, clock, sha256, bodyKeys }: Omit<ErasureParts, "randomBytes">,
  erasure: Erasure,
  actorUserId: string | null,
): Promise<ErasureReport> {
  const keyIds = await destroyEndedKeys(db, bodyKeys, erasure, clock.now());
  let counts: ErasedCounts = { bodies: 0, replacedVersions: 0, requests: 0, views: 0, events: 0 };
  for (;;) {
    const batch = await eraseBatch(db, erasure, clock.now());
    if (Object.values(batch).every((count) => count === 0)) break;
    counts = {
      bodies: counts.bodies + batch.bodies,
      replacedVersions: counts.replacedVersions + batch.replacedVersions,
      requests: counts.requests + batch.requests,
      views: counts.views + batch.views,
      events: counts.events + batch.events,
    };
  }
  const now = clock.now();
  const text = writeCertificate(erasure, { keyIds, counts }, now);
  const certificate = { text, sha256: hashText(text, sha256) };
  await finishErasure(db, erasure, certificate, { userId: actorUserId, now });
  return { erasureId: erasure.erasureId, certificate: text, sha256: certificate.sha256 };
}
