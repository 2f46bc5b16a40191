import { sql, type Transaction } from "kysely";
import type { BodyKeyStore } from "../../core/ports/body-key-store.ts";
import type { RandomBytes } from "../../core/ports/random.ts";
import type { Millis } from "../../core/values/time.ts";
import { uuidV7 } from "../../core/values/uuid.ts";
import { BODY_KEY_BYTES, type BodyPlace, NONCE_BYTES, openBody, sealBody } from "./body-cipher.ts";
import type { CloudSchema } from "./schema.ts";

/** The dependencies of encrypting and decrypting bodies. */
export interface BodySealing {
  readonly keys: BodyKeyStore;
  readonly randomBytes: RandomBytes;
}

/** Returns these dependencies; null if no key store is configured. */
export function sealingOf({
  bodyKeys,
  randomBytes,
}: {
  readonly bodyKeys?: BodyKeyStore;
  readonly randomBytes: RandomBytes;
}): BodySealing | null {
  return bodyKeys === undefined ? null : { keys: bodyKeys, randomBytes };
}

/** The owner of a body. Each person has one key for each of their projects in a workspace. */
export interface BodyOwner {
  readonly workspaceId: string;
  readonly userId: string;
  /** Empty for a request without a project. */
  readonly project: string;
}

/** Why a key can't be used. */
export type BodyKeyFault = "missing" | "unreadable" | "not_created";

/** A key that has not been destroyed can't be read, or a new one can't be created. */
export class BodyKeyUnavailable extends Error {
  override readonly name: string = "BodyKeyUnavailable";
  readonly keyId: string;
  readonly fault: BodyKeyFault;

  constructor(message: string, keyId: string, fault: BodyKeyFault, options?: ErrorOptions) {
    super(message, options);
    this.keyId = keyId;
    this.fault = fault;
  }
}

/** A key that has not been destroyed is not in the key store. */
export class BodyKeyMissing extends BodyKeyUnavailable {
  override readonly name = "BodyKeyMissing";

  constructor(keyId: string) {
    super(`the key store does not have the body key ${keyId}`, keyId, "missing");
  }
}

/** A sealed body and the id of its key. */
export interface SealedBody {
  readonly bytes: Uint8Array;
  readonly keyId: string;
}

/**
 * Seals a body with its owner's key, which is created with the owner's first body. The key's row stays locked until the
 * transaction ends, so that an erasure waits for the body and then erases it too. Throws `BodyKeyUnavailable`
 * rather than replace a key that is not there: the folder may only not be mounted.
 */
export async function sealForOwner(
  trx: Transaction<CloudSchema>,
  { keys, randomBytes }: BodySealing,
  owner: BodyOwner,
  content: Uint8Array,
  place: BodyPlace,
  now: Millis,
): Promise<SealedBody> {
  const keyId = (await lockKey(trx, owner)) ?? (await createKey(trx, { keys, randomBytes }, owner, now));
  const key = await keys.read(keyId).catch((cause: unknown) => {
    throw new BodyKeyUnavailable(`could not read the body key ${keyId}`, keyId, "unreadable", { cause });
  });
  if (key === null) throw new BodyKeyMissing(keyId);
  return { bytes: await sealBody(content, key, place, randomBytes(NONCE_BYTES)), keyId };
}

/** Opens a sealed body; null if its key was destroyed. Throws `BodyKeyMissing` if the key should still be there. */
export async function openSealed(
  trx: Transaction<CloudSchema>,
  { keys }: Pick<BodySealing, "keys">,
  { bytes, keyId }: SealedBody,
  place: BodyPlace,
): Promise<Uint8Array | null> {
  const key = await keys.read(keyId);
  if (key !== null) return await openBody(bytes, key, place);
  const row = await trx
    .selectFrom("body_keys")
    .select("destroyed_at")
    .where("workspace_id", "=", place.workspaceId)
    .where("key_id", "=", keyId)
    .executeTakeFirst();
  if (row?.destroyed_at == null) throw new BodyKeyMissing(keyId);
  return null;
}

async function lockKey(
  trx: Transaction<CloudSchema>,
  { workspaceId, userId, project }: BodyOwner,
): Promise<string | null> {
  const row = await trx
    .selectFrom("body_keys")
    .select("key_id")
    .where("workspace_id", "=", workspaceId)
    .where("user_id", "=", userId)
    .where("project", "=", project)
    .where("destroyed_at", "is", null)
    .forShare()
    .executeTakeFirst();
  return row?.key_id ?? null;
}

async function createKey(
  trx: Transaction<CloudSchema>,
  { keys, randomBytes }: BodySealing,
  owner: BodyOwner,
  now: Millis,
): Promise<string> {
  const keyId = uuidV7(now, randomBytes(10));
  // Before its row: a key without a row is useless, and a row without its key would lose the body.
  await keys.write(keyId, randomBytes(BODY_KEY_BYTES)).catch((cause: unknown) => {
    throw new BodyKeyUnavailable(`could not write the body key ${keyId}`, keyId, "not_created", { cause });
  });
  const { rows } = await sql`
    insert into body_keys (workspace_id, key_id, user_id, project, created_at)
    values (${owner.workspaceId}::uuid, ${keyId}::uuid, ${owner.userId}, ${owner.project}, ${now}::timestamptz)
    on conflict (workspace_id, user_id, project) where destroyed_at is null do nothing
    returning key_id`.execute(trx);
  if (rows.length > 0) return keyId;
  // Another transaction created the owner's key meanwhile.
  await keys.destroy([keyId]);
  const created = await lockKey(trx, owner);
  return created ?? (await createKey(trx, { keys, randomBytes }, owner, now));
}
