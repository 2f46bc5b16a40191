import { createManualClock, type ManualClock } from "../../../adapters/clock/mod.ts";
import { createRandomBytes, sha256 } from "../../../adapters/crypto/mod.ts";
import type { PostgresServerOptions } from "../../../adapters/postgres/mod.ts";
import { type CloudSettings, createCloud, seedRates } from "../../../cloud/mod.ts";
import { insertKey } from "../../../cloud/store/keys.ts";
import type { KeyScope } from "../../../cloud/store/schema.ts";
import { inScope } from "../../../cloud/store/transaction.ts";
import { mintToken } from "../../../cloud/sync-token.ts";
import type { Plan } from "../../../core/plans/mod.ts";
import type { CloudLogEvent } from "../../../core/ports/cloud-log.ts";
import { loadBundledRates } from "../../../core/pricing/mod.ts";
import { uuidV7 } from "../../../core/uuid.ts";
import type { Engine, TestDatabase } from "./engines.ts";

/** When the tests' clock starts. */
export const START = Date.UTC(2026, 10, 21, 12);

/** A workspace of its own for a test, so that tests share one database. */
export interface TestWorkspace {
  readonly id: string;
  readonly organisationId: string;
  readonly userId: string;
  readonly machineId: string;
  /** A sync key's. */
  readonly token: string;
}

/** A cloud on a database of its own. */
export interface CloudRig extends TestDatabase {
  readonly clock: ManualClock;
  readonly log: CloudLogEvent[];
  /** A fresh app on the same database: another instance. */
  app(config?: CloudSettings): ReturnType<typeof createCloud>;
  uuid(): string;
  addWorkspace(settings?: { plan?: Plan; storePromptContent?: boolean }): Promise<TestWorkspace>;
  addKey(
    workspace: TestWorkspace,
    key?: { scope?: KeyScope; userId?: string; machineId?: string | null },
  ): Promise<string>;
  addMachine(workspace: TestWorkspace, hostname?: string): Promise<string>;
  addMember(workspace: TestWorkspace, userId: string): Promise<void>;
  /** Calls the first instance. A body that is neither text nor bytes is sent as JSON. */
  call(method: string, path: string, token: string | null, body?: unknown): Promise<Response>;
}

const randomBytes = createRandomBytes();

/** Rates of two providers: enough to price, quick to seed. */
const RATES = loadBundledRates().filter(({ provider }) => provider === "openai" || provider === "anthropic");

/** Makes a cloud. The clock stands still until a test moves it. */
export async function createRig(
  engine: Engine,
  options: { database?: PostgresServerOptions; config?: CloudSettings } = {},
): Promise<CloudRig> {
  const test = await engine.open(options.database);
  const clock = createManualClock(START);
  const log: CloudLogEvent[] = [];
  await seedRates(test.db, RATES, START);
  const app = (config: CloudSettings = {}) =>
    createCloud(
      {
        db: test.db,
        clock,
        randomBytes,
        sha256,
        log: (event) => log.push(event),
        peerAddress: (env) => (env as { peer?: string } | undefined)?.peer ?? null,
      },
      config,
    );
  const main = app(options.config);
  const uuid = () => uuidV7(clock.now(), randomBytes(10));

  const rig: CloudRig = {
    ...test,
    clock,
    log,
    app,
    uuid,
    async addWorkspace({ plan = "solo", storePromptContent = false } = {}) {
      const [id, organisationId, machineId, userId] = [uuid(), uuid(), uuid(), `user-${uuid()}`];
      const now = clock.now();
      await test.db
        .insertInto("organisations")
        .values({ organisation_id: organisationId, name: "Org", created_at: now })
        .execute();
      await test.db
        .insertInto("workspaces")
        .values({
          workspace_id: id,
          organisation_id: organisationId,
          name: "Work",
          plan,
          store_prompt_content: storePromptContent,
          created_at: now,
        })
        .execute();
      const workspace = { id, organisationId, userId, machineId, token: "" };
      await rig.addMember(workspace, userId);
      await insertMachine(workspace, machineId, "laptop");
      return { ...workspace, token: await rig.addKey(workspace) };
    },
    async addMember(workspace, userId) {
      await test.db
        .insertInto("memberships")
        .values({ workspace_id: workspace.id, user_id: userId, role: "member", created_at: clock.now() })
        .execute();
    },
    async addMachine(workspace, hostname = "desktop") {
      const machineId = uuid();
      await insertMachine(workspace, machineId, hostname);
      return machineId;
    },
    async addKey(workspace, { scope = "sync", userId = workspace.userId, machineId } = {}) {
      const { token, hash, prefix } = mintToken(scope, workspace.id, randomBytes, sha256);
      await inScope(test.db, { workspaceId: workspace.id }, (trx) =>
        insertKey(trx, {
          keyId: uuid(),
          workspaceId: workspace.id,
          userId,
          scope,
          machineId: scope === "admin" ? null : (machineId ?? workspace.machineId),
          tokenHash: hash,
          prefix,
          now: clock.now(),
        }),
      );
      return token;
    },
    call: async (method, path, token, body) =>
      await main.request(path, {
        method,
        headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
        ...(body === undefined ? {} : { body: toBody(body) }),
      }),
  };

  async function insertMachine(workspace: TestWorkspace, machineId: string, hostname: string): Promise<void> {
    await test.db
      .insertInto("machines")
      .values({
        workspace_id: workspace.id,
        machine_id: machineId,
        hostname,
        platform: "linux",
        daemon_version: "0.4.0",
        created_at: clock.now(),
      })
      .execute();
  }
  return rig;
}

function toBody(body: unknown): string | Uint8Array<ArrayBuffer> {
  if (body instanceof Uint8Array) return new Uint8Array(body);
  return typeof body === "string" ? body : JSON.stringify(body);
}

/** A record with the four fields that it must have, and whatever else is given. */
export function record(requestId: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    request_id: requestId,
    requested_at: "2026-11-21T11:59:00.000Z",
    provider: "openai",
    model: "gpt-4o",
    ...fields,
  };
}

/** A batch of a daemon. */
export function batch(...records: Record<string, unknown>[]): Record<string, unknown> {
  return { daemon_version: "0.4.0", records };
}

/** The answer's JSON, read without looking. */
// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects, field by field.
export async function json(answer: Response | Promise<Response>): Promise<any> {
  return await (await answer).json();
}
