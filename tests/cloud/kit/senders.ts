import { createRandomBytes, sha256 } from "../../../adapters/crypto/mod.ts";
import type { CloudDatabase } from "../../../cloud/mod.ts";
import { insertKey } from "../../../cloud/store/keys.ts";
import { inScope } from "../../../cloud/store/transaction.ts";
import { mintToken } from "../../../cloud/sync-token.ts";
import { uuidV7 } from "../../../core/uuid.ts";

/** A machine with its key. */
export interface Sender {
  readonly machineId: string;
  readonly userId: string;
  readonly token: string;
}

const randomBytes = createRandomBytes();

/** Makes a workspace with so many machines, each with a key of its own. */
export async function addSenders(
  db: CloudDatabase,
  machines: number,
  now: number,
): Promise<{ workspaceId: string; senders: readonly Sender[] }> {
  const uuid = () => uuidV7(now, randomBytes(10));
  const [organisationId, workspaceId, userId] = [uuid(), uuid(), `user-${uuid()}`];
  const organisation = { organisation_id: organisationId, name: "Bench", created_at: now };
  await db.insertInto("organisations").values(organisation).execute();
  await db
    .insertInto("workspaces")
    .values({ workspace_id: workspaceId, organisation_id: organisationId, name: "Bench", created_at: now })
    .execute();
  await db
    .insertInto("memberships")
    .values({ workspace_id: workspaceId, user_id: userId, role: "member", created_at: now })
    .execute();
  const senders: Sender[] = [];
  for (let at = 0; at < machines; at += 1) {
    const machineId = uuid();
    await db
      .insertInto("machines")
      .values({
        workspace_id: workspaceId,
        machine_id: machineId,
        hostname: `host-${at}`,
        platform: "linux",
        daemon_version: "0.4.0",
        created_at: now,
      })
      .execute();
    const { token, hash, prefix } = mintToken("sync", workspaceId, randomBytes, sha256);
    await inScope(db, { workspaceId }, (trx) =>
      insertKey(trx, {
        ...{ keyId: uuid(), workspaceId, userId, scope: "sync", machineId },
        ...{ tokenHash: hash, prefix, now },
      }),
    );
    senders.push({ machineId, userId, token });
  }
  return { workspaceId, senders };
}
