import { createManualClock, type ManualClock } from "../../../adapters/clock/manual-clock.ts";
import { createRandomBytes, sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { createMemoryAccounts } from "../../../adapters/memory/accounts.ts";
import type { PostgresServerOptions } from "../../../adapters/postgres/postgres-server.ts";
import { mintToken } from "../../../cloud/access/token.ts";
import { type BudgetWatch, createBudgetWatch } from "../../../cloud/budgets/budget-watch.ts";
import { CLOUD_CONFIG_DEFAULTS, type CloudSettings } from "../../../cloud/config.ts";
import { createCloud } from "../../../cloud/create-cloud.ts";
import type { CloudPorts } from "../../../cloud/ports.ts";
import { insertKey } from "../../../cloud/store/keys.ts";
import { seedRates } from "../../../cloud/store/rates.ts";
import type { KeyScope } from "../../../cloud/store/schema.ts";
import { inScope } from "../../../cloud/store/transaction.ts";
import type { Accounts } from "../../../core/ports/accounts.ts";
import type { BodyKeyStore } from "../../../core/ports/body-key-store.ts";
import type { CloudLogEvent } from "../../../core/ports/cloud-log.ts";
import type { Mail } from "../../../core/ports/mail.ts";
import type { RandomBytes } from "../../../core/ports/random.ts";
import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import type { Plan } from "../../../core/values/plan.ts";
import { uuidV7 } from "../../../core/values/uuid.ts";
import type { Engine, TestDatabase } from "./engines.ts";

/** When the tests' clock starts. */
export const START = Date.UTC(2026, 10, 21, 12);

/** Settings for a suite that is not about limits: keys and people may make any number of requests. */
export const UNLIMITED: CloudSettings = { rateLimits: { perKey: 1e9, perUser: 1e9 } };

/** A workspace for one test, so that tests can share a database. */
export interface TestWorkspace {
  readonly id: string;
  readonly organisationId: string;
  readonly userId: string;
  readonly machineId: string;
  /** The token of a sync key. */
  readonly token: string;
}

/** A person's relation to a workspace. */
export type Standing =
  | "stranger"
  | "member"
  | "workspaceAdmin"
  | "organisationAdmin"
  | "organisationOwner"
  /** A member of the organisation who cannot access the workspace. */
  | "organisationMember";

/** A person with a session. */
export interface TestPerson {
  readonly userId: string;
  readonly token: string;
}

/** A cloud on its own database. */
export interface CloudRig extends TestDatabase {
  readonly clock: ManualClock;
  /** Checks the budgets ten seconds after a change, by the rig's clock. */
  readonly budgetWatch: BudgetWatch;
  readonly log: CloudLogEvent[];
  readonly accounts: Accounts<Request, Response>;
  /** The keys of stored bodies, by id. */
  readonly bodyKeys: BodyKeyStore & { readonly stored: ReadonlyMap<string, Uint8Array> };
  /** The emails that were sent, oldest first. */
  readonly mails: Mail[];
  /** Creates another app on the same database, as another instance. */
  app(config?: CloudSettings): ReturnType<typeof createCloud>;
  uuid(): string;
  addWorkspace(settings?: { plan?: Plan; storePromptContent?: boolean }): Promise<TestWorkspace>;
  addKey(
    workspace: TestWorkspace,
    key?: { scope?: KeyScope; userId?: string; machineId?: string | null },
  ): Promise<string>;
  addMachine(workspace: TestWorkspace, hostname?: string): Promise<string>;
  addMember(workspace: TestWorkspace, userId: string, role?: "admin" | "member"): Promise<void>;
  /** Adds an account that has only a name. Returns its id. */
  addPerson(name?: string): Promise<string>;
  /** Adds a person in that relation to the workspace, with a bearer session token. */
  personIn(workspace: TestWorkspace, standing: Standing, name?: string): Promise<TestPerson>;
  /** Creates a bearer session token of a person, such as `workspace.userId`. */
  sessionFor(userId: string): Promise<string>;
  /** The dependencies of the administration's functions. */
  readonly parts: Pick<CloudPorts, "db" | "clock" | "randomBytes" | "accounts">;
  /** Calls the first instance with the given headers. A body that is neither text nor bytes is sent as JSON. */
  main(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Response>;
  /** Calls the first instance. A body that is neither text nor bytes is sent as JSON. */
  call(method: string, path: string, token: string | null, body?: unknown): Promise<Response>;
}

const ORGANISATION_ROLES: { readonly [S in Standing]?: "owner" | "admin" | "member" } = {
  organisationMember: "member",
  organisationAdmin: "admin",
  organisationOwner: "owner",
};

/** Rates of two providers: enough to price, quick to seed. */
const RATES = loadBundledRates().filter(({ provider }) => provider === "openai" || provider === "anthropic");

/** Body keys in memory. */
function createBodyKeys(): CloudRig["bodyKeys"] {
  const stored = new Map<string, Uint8Array>();
  return {
    stored,
    read: async (keyId) => stored.get(keyId) ?? null,
    write: async (keyId, key) => void stored.set(keyId, key),
    destroy: async (keyIds) => {
      for (const keyId of keyIds) stored.delete(keyId);
    },
  };
}

/** Creates a cloud. The clock stands still until a test advances it. */
export async function createRig(
  engine: Pick<Engine, "open">,
  options: {
    database?: PostgresServerOptions;
    config?: CloudSettings;
    /** Default: in memory. */
    accounts?: (test: TestDatabase, clock: ManualClock) => Accounts<Request, Response>;
    randomBytes?: RandomBytes;
  } = {},
): Promise<CloudRig> {
  const { randomBytes = createRandomBytes() } = options;
  const test = await engine.open(options.database);
  const clock = createManualClock(START);
  const log: CloudLogEvent[] = [];
  await seedRates(test.db, RATES, START);
  const accounts = options.accounts?.(test, clock) ?? createMemoryAccounts(randomBytes);
  const mails: Mail[] = [];
  const bodyKeys = createBodyKeys();
  const mail = async (sent: Mail) => void mails.push(sent);
  const budgetWatch = createBudgetWatch({
    ...{ db: test.db, clock, accounts, mail, baseUrl: CLOUD_CONFIG_DEFAULTS.baseUrl },
    log: (event) => log.push(event),
  });
  const app = (config: CloudSettings = {}) =>
    createCloud(
      {
        ...{ db: test.db, clock, randomBytes, sha256, accounts, bodyKeys, mail, budgetWatch },
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
    accounts,
    bodyKeys,
    mails,
    budgetWatch,
    app,
    uuid,
    async addWorkspace({ plan = "solo", storePromptContent = false } = {}) {
      const [id, organisationId, machineId] = [uuid(), uuid(), uuid()];
      const userId = await rig.addPerson();
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
      // A cluster has no triggers that do this.
      await test.db
        .insertInto("workspace_directory")
        .values({ workspace_id: id, organisation_id: organisationId })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      const workspace = { id, organisationId, userId, machineId, token: "" };
      await rig.addMember(workspace, userId);
      await insertMachine(workspace, machineId, "laptop");
      return { ...workspace, token: await rig.addKey(workspace) };
    },
    async addPerson(name = "Ann") {
      const made = await accounts.createUser({ name, email: `${uuid()}@example.com`, password: null });
      if (!made.ok) throw new Error(made.reason);
      return made.userId;
    },
    async personIn(workspace, standing, name = standing) {
      const userId = await rig.addPerson(name);
      if (standing === "member") await rig.addMember(workspace, userId, "member");
      if (standing === "workspaceAdmin") await rig.addMember(workspace, userId, "admin");
      const role = ORGANISATION_ROLES[standing];
      if (role !== undefined) {
        await test.db
          .insertInto("organisation_members")
          .values({
            organisation_id: workspace.organisationId,
            user_id: userId,
            role,
            created_at: clock.now(),
          })
          .execute();
      }
      return { userId, token: await rig.sessionFor(userId) };
    },
    sessionFor: (userId) => accounts.createSession(userId),
    async addMember(workspace, userId, role = "member") {
      await test.db
        .insertInto("memberships")
        .values({ workspace_id: workspace.id, user_id: userId, role, created_at: clock.now() })
        .execute();
      await test.db
        .insertInto("person_workspaces")
        .values({ workspace_id: workspace.id, user_id: userId })
        .onConflict((conflict) => conflict.doNothing())
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
    parts: { db: test.db, clock, randomBytes, accounts },
    main: async (method, path, body, headers = {}) =>
      await main.request(path, {
        method,
        headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
        ...(body === undefined ? {} : { body: toBody(body) }),
      }),
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
        user_id: workspace.userId,
      })
      .execute();
  }
  return rig;
}

function toBody(body: unknown): string | Uint8Array<ArrayBuffer> {
  if (body instanceof Uint8Array) return new Uint8Array(body);
  return typeof body === "string" ? body : JSON.stringify(body);
}

/** A record with the four required fields and the given ones. */
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

/** Returns the JSON of a response without checking it. */
// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects, field by field.
export async function json(answer: Response | Promise<Response>): Promise<any> {
  return await (await answer).json();
}
