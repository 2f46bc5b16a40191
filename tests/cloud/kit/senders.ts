import { createRandomBytes, sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { mintToken } from "../../../cloud/access/token.ts";
import { insertKey } from "../../../cloud/store/keys.ts";
import type { CloudDatabase } from "../../../cloud/store/open-database.ts";
import { inScope } from "../../../cloud/store/transaction.ts";
import { uuidV7 } from "../../../core/values/uuid.ts";

/** A machine with its key. */
export interface Sender {
  readonly machineId: string;
  readonly userId: string;
  readonly token: string;
}

const randomBytes = createRandomBytes();

/** Creates a workspace with this number of machines, each with its own key. */
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
  for (let at = 0; at < machines; at += 1) senders.push(await addSender(db, workspaceId, now, userId));
  return { workspaceId, senders };
}

/** Creates a machine with a key of its owner in an existing workspace. */
export async function addSender(
  db: CloudDatabase,
  workspaceId: string,
  now: number,
  userId?: string,
): Promise<Sender> {
  const [machineId, keyId] = [uuidV7(now, randomBytes(10)), uuidV7(now, randomBytes(10))];
  const owner = userId ?? (await ownerOf(db, workspaceId));
  await db
    .insertInto("machines")
    .values({
      workspace_id: workspaceId,
      machine_id: machineId,
      hostname: "laptop",
      platform: "linux",
      daemon_version: "0.4.0",
      created_at: now,
    })
    .execute();
  const { token, hash, prefix } = mintToken("sync", workspaceId, randomBytes, sha256);
  await inScope(db, { workspaceId }, (trx) =>
    insertKey(trx, {
      ...{ keyId, workspaceId, userId: owner, scope: "sync", machineId },
      ...{ tokenHash: hash, prefix, now },
    }),
  );
  return { machineId, userId: owner, token };
}

/** Returns the owner of the workspace's organisation. */
async function ownerOf(db: CloudDatabase, workspaceId: string): Promise<string> {
  const owner = await db
    .selectFrom("organisation_members as m")
    .innerJoin("workspaces as w", "w.organisation_id", "m.organisation_id")
    .select("m.user_id")
    .where("w.workspace_id", "=", workspaceId)
    .where("m.role", "=", "owner")
    .executeTakeFirstOrThrow();
  return owner.user_id;
}
