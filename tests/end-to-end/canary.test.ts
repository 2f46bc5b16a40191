import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { type Selectable, sql } from "kysely";
import { createBodyKeyFolder } from "../../adapters/body-keys/key-folder.ts";
import { systemClock } from "../../adapters/clock/system-clock.ts";
import { openPgliteFolder } from "../../adapters/postgres/pglite.ts";
import { openPostgres } from "../../adapters/postgres/postgres-server.ts";
import { openBody } from "../../cloud/store/body-cipher.ts";
import { type CloudDatabase, openCloudDatabase } from "../../cloud/store/open-database.ts";
import type { CloudSchema } from "../../cloud/store/schema.ts";
import { missingPostgres, type PostgresServer, startPostgres } from "../cloud/kit/postgres-server.ts";
import { type CanaryRig, createCanaryRig, readToken } from "./canary.rig.ts";
import {
  type CanaryKind,
  canary,
  type Find,
  filesIn,
  findCanaries,
  findInFolder,
  findInProcess,
} from "./canary-search.rig.ts";
import { shapes } from "./canary-shapes.rig.ts";
import {
  answerSession,
  capture,
  drive,
  more,
  offer,
  ownRemote,
  planted,
  withOwnId,
} from "./canary-traffic.rig.ts";
import { onNodeOnly } from "./meter-process.rig.ts";
import { dialProvider, receive } from "./raw-client.rig.ts";

/** The time limit of the suite, in milliseconds. */
const timeout = 900_000;

// For the embedded database's tables, which are read once: the optimising compiler takes longer than it saves.
setFlagsFromString("--liftoff-only");

/** Everything that a person or a program can read from the daemon and the command line, except stored bodies. */
async function findInAnswers({ meter }: CanaryRig, ...more: readonly string[][]): Promise<Find[]> {
  const commands = [
    ...more,
    ["status", "--json"],
    ["report"],
    ["report", "--by", "project", "--json"],
    ["explain", "last"],
    ["explain", "last", "--json"],
    ["project", "list"],
    ["bodies", "stats"],
    ["cloud", "status", "--json"],
    ["cloud", "whoami"],
    ["cloud", "privacy", "show"],
    ["cloud", "privacy", "audit", "--json"],
    ["cloud", "bodies", "status"],
    ["cloud", "quarantine", "list"],
    ["cloud", "reconcile"],
  ];
  const finds: Find[] = [];
  for (const words of commands) {
    const { stdout, stderr } = await meter.run(words);
    finds.push(...findCanaries(`meter ${words.join(" ")}`, Buffer.from(stdout + stderr)));
  }
  return finds;
}

/**
 * Everything except the provider's socket and stored bodies. The one file that is left out names the company's proxy.
 */
async function findOutside(
  rig: CanaryRig,
  cloudFolder: string,
  isSearched: (file: string) => boolean = () => true,
): Promise<Find[]> {
  const { startedAt, home, meter, cloud, wire } = rig;
  const { others } = rig.localRows();
  return [
    ...findInFolder(home, startedAt, (file) => !file.endsWith("config.toml") && isSearched(file)),
    ...findCanaries("rows of the local database", toBytes(others)),
    ...findInFolder(cloudFolder, startedAt),
    ...findCanaries("output of the cloud", Buffer.from(cloud.output())),
    ...findInProcess("the daemon", meter.pid),
    ...findInProcess("the cloud", cloud.pid),
    ...wire.seen
      .filter(({ path }) => !path.endsWith("/body"))
      .flatMap(({ path, headers, body }) => [
        ...findCanaries(`the wire: ${path}`, Buffer.from(path + headers)),
        ...findCanaries(`the wire: ${path}`, body),
      ]),
  ];
}

/** Rows as text, and byte strings unchanged. */
function toBytes(rows: readonly unknown[]): Buffer {
  const parts = rows.flatMap((row) =>
    Object.values(row as object).map((value) =>
      value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(`${JSON.stringify(value) ?? ""}\n`),
    ),
  );
  return Buffer.concat(parts);
}

const isSecret = ({ kind }: Find) => kind === "secret";
const numbers = (texts: readonly number[]) => texts.map((number) => shapes[number]?.name);

/** Returns the numbers of the canaries in the bytes, unescaped or with JSON's escapes. */
function numbersIn(kind: CanaryKind, bytes: Buffer): number[] {
  const text = bytes.toString("latin1").toLowerCase();
  const plain = text.replaceAll(/\\u00([0-9a-f]{2})/g, (_, code) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  return shapes.flatMap((_, number) => (plain.includes(canary(kind, number)) ? [number] : []));
}

describe("findCanaries()", () => {
  const secret = canary("secret", 5);
  const forms: readonly (readonly [form: string, bytes: Buffer])[] = [
    ["as it is", Buffer.from(`x${secret.toUpperCase()}`)],
    ["in hex", Buffer.from(Buffer.from(secret).toString("hex"))],
    ["JSON-escaped", Buffer.from([...secret].map((c) => `\\u00${c.charCodeAt(0).toString(16)}`).join(""))],
    ["percent-encoded", Buffer.from([...secret].map((c) => `%${c.charCodeAt(0).toString(16)}`).join(""))],
    ["in UTF-16", Buffer.from(secret, "utf16le")],
    ...["", "x", "xy"].map(
      (before) => ["in base64", Buffer.from(Buffer.from(`${before}${secret}!`).toString("base64"))] as const,
    ),
  ];
  for (const [form, bytes] of forms) {
    it(`finds a canary ${form}, ${bytes.length} bytes`, () => {
      assert.deepEqual(
        findCanaries("here", bytes).map((find) => [find.kind, find.form]),
        [["secret", form]],
      );
    });
  }
});

const engines = [
  { name: "the embedded database", missing: null, start: async () => null },
  { name: "PostgreSQL 15", missing: missingPostgres(), start: () => startPostgres(true) },
] as const;

for (const engine of engines) {
  // Planted once, each found at once: a prompt in a warning of the daemon's log, the query kept in `path`, the refused body
  // printed by the cloud, an envelope's text in the outbox.
  describe(`${shapes.length + more.length} secrets and prompts through the whole system, on ${engine.name}`, {
    skip: onNodeOnly || (engine.missing === null ? false : `NOT TESTED: ${engine.missing}`),
    timeout,
  }, () => {
    let postgres: PostgresServer | null = null;
    let rig: CanaryRig;
    let cloudFolder: string;

    before(async () => {
      postgres = await engine.start();
      const env = postgres === null ? {} : { DATABASE_URL: postgres.url("postgres") };
      rig = await createCanaryRig(
        { env: env as Readonly<Record<string, string>>, parentPassword: planted("secret", "parent") },
        (shape) => shapes[shape]?.reply.map(withOwnId) ?? [],
        answerSession,
      );
      cloudFolder = postgres === null ? rig.cloud.home : await dataFolder(postgres);
    });
    after(async () => {
      await rig?.close();
      await postgres?.stop();
    });

    it("with both gates off: only on the provider's socket", async () => {
      await drive(rig);
      const received = Buffer.concat(rig.provider.received);
      const inRequests = shapes.flatMap(({ request }, number) =>
        numbersIn("secret", Buffer.concat(request)).includes(number) ? [number] : [],
      );
      assert.ok(inRequests.length > 30);
      const arrived = numbersIn("secret", received);
      assert.deepEqual(numbers(inRequests.filter((number) => !arrived.includes(number))), []);
      assert.deepEqual(rig.localRows().bodies, []);
      const stored = filesIn(cloudFolder, rig.startedAt).filter((file) =>
        readFileSync(file).includes("ann@example.com"),
      );
      assert.ok(stored.length > 0, "the database is in the searched files");
      assert.deepEqual(await findOutside(rig, cloudFolder), []);
      assert.deepEqual(await findInAnswers(rig), []);
    });

    it("keeps the token in its own file, a local-only project's name on this machine, and the machine's name out of batches", async () => {
      const { home, meter, wire, cloud } = rig;
      const writtenIn = (folder: string) => filesIn(folder, rig.startedAt);
      const own = "a-project-of-mine-alone";
      const rule = ["cloud", "privacy", "set", "upload", "false", "--project", own];
      assert.equal((await meter.run(rule)).code, 0);
      const asked = String(shapes[0]?.request[0]).replace(
        "X-Meter-Project: canaries",
        `X-Meter-Project: ${own}`,
      );
      const socket = await dialProvider(meter, "api.anthropic.com");
      socket.write(asked);
      await receive(socket).over;
      assert.equal((await meter.run(["sync"])).code, 0);
      assert.ok((await meter.rows()).some(({ project }) => project === own));

      const token = readToken(home);
      const batches = wire.seen.filter(({ path }) => path === "/v1/requests/batch");
      assert.ok(batches.length > 0);
      for (const { body } of batches) {
        assert.ok(!body.includes(own) && !body.includes(token));
        for (const record of JSON.parse(String(body)).records) {
          assert.ok(!Object.values(record).includes(hostname()));
        }
      }
      const isIn = (text: string) => (file: string) => readFileSync(file).includes(text);
      assert.deepEqual(writtenIn(cloudFolder).filter(isIn(own)), []);
      assert.deepEqual([...writtenIn(cloudFolder), ...writtenIn(home)].filter(isIn(token)), [
        join(home, "cloud-credentials.json"),
      ]);
      assert.deepEqual(writtenIn(join(home, "outbox")).filter(isIn(own)), []);
      assert.ok(!cloud.output().includes(token));
    });

    it("keeps a repository's remote and folder in this machine's database", async () => {
      const { startedAt, folder, home, wire, cloud } = rig;
      const origins = [ownRemote, join(folder, "canaries")];
      const local = String(toBytes(rig.localRows().others));
      const names = (bytes: Buffer | string) => origins.filter((origin) => bytes.includes(origin));
      assert.deepEqual(names(local), origins);
      const files = [...filesIn(home, startedAt), ...filesIn(cloudFolder, startedAt)].filter(
        (file) => !/meter\.db(-wal)?$/.test(file),
      );
      assert.deepEqual(
        files.filter((file) => names(readFileSync(file)).length > 0),
        [],
      );
      assert.ok(wire.seen.length > 0);
      for (const { path, headers, body } of wire.seen)
        assert.deepEqual([...names(path + headers), ...names(body)], []);
      assert.deepEqual(names(cloud.output()), []);
    });

    it("with capture on and the workspace's gate off: only in this machine's stored bodies, redacted, and not sent", async () => {
      const from = rig.wire.seen.length;
      await capture(rig);
      const stored = toBytes(rig.localRows().bodies);
      assert.deepEqual(expected(stored), []);
      assert.deepEqual(
        rig.wire.seen.slice(from).filter(({ path }) => path.endsWith("/body")),
        [],
      );
      // Another client may send a body nevertheless: it is refused, whatever it contains.
      const rows = await rig.meter.rows();
      for (const [number, { request, reply }] of shapes.entries()) {
        const { requestId } = rows[number % rows.length] ?? assert.fail("nothing is recorded");
        assert.deepEqual(await offer(rig, requestId, number, Buffer.concat([...request, ...reply])), {
          stored: false,
          reason: "store_prompt_content_disabled",
        });
      }
      // The store's own files contain the bodies as text only.
      const finds = await findOutside(rig, cloudFolder, (file) => !/meter\.db(-wal)?$/.test(file));
      assert.deepEqual(finds, []);
      assert.deepEqual(exposed(stored), []);
    });

    it("with both gates on: only in the stored bodies, redacted", async () => {
      if (rig.localRows().bodies.length === 0) await capture(rig);
      const path = `/v1/workspaces/${rig.person.workspaceId}/settings`;
      assert.equal((await rig.person.ask("PATCH", path, { store_prompt_content: true })).status, 200);
      assert.equal((await rig.meter.run(["sync"])).code, 0);
      const sent = rig.wire.seen.filter(({ path, status }) => path.endsWith("/body") && status === 204);
      const bodies = Buffer.concat(sent.map(({ body }) => decoded(body)));
      assert.deepEqual(expected(bodies), []);
      assert.deepEqual(exposed(bodies), []);

      const [requestId] = sent.map(({ path }) => path.split("/")[3]);
      const read = await rig.person.ask("GET", `/v1/traces/${requestId}/body`);
      assert.equal(read.status, 200);
      const outside = await findOutside(rig, rig.cloud.home, (file) => !/meter\.db(-wal)?$/.test(file));
      assert.deepEqual(
        outside.filter(({ place }) => !place.startsWith(join(rig.cloud.home, "database"))),
        [],
      );
      assert.deepEqual(
        findInFolder(cloudFolder, rig.startedAt).filter((find) => isSecret(find) && !isUnredacted(find)),
        [],
      );

      // It tries the clients of this machine, which takes as long as all other commands together.
      assert.deepEqual(await findInAnswers(rig, ["doctor"]), []);
      assert.equal(await rig.cloud.end("SIGTERM"), 0);
      const tables = await readCloudTables(
        postgres?.url("postgres") ?? null,
        join(rig.cloud.home, "database"),
      );
      const kept = await openBodies(
        tables.flatMap(({ table, rows }) => (table === "request_bodies" ? rows : [])),
        join(rig.cloud.home, "body-keys"),
      );
      assert.deepEqual(expected(kept), []);
      assert.deepEqual(exposed(kept), []);
      for (const { table, rows } of tables) assert.deepEqual(findCanaries(table, toBytes(rows)), []);
      const { stdout, stderr } = await rig.meter.stop();
      assert.deepEqual(findCanaries("output of the daemon", Buffer.from(stdout + stderr)), []);
    });
  });
}

/** Returns the names of the shapes whose text should be in the stored bodies and is not. */
const expected = (bodies: Buffer): (string | undefined)[] => {
  const found = numbersIn("text", bodies);
  return numbers(
    shapes.flatMap(({ isStored }, number) => (isStored && !found.includes(number) ? [number] : [])),
  );
};

/** Returns the names of the shapes whose secret is in the bodies although redaction knows its form. */
const exposed = (bodies: Buffer): (string | undefined)[] =>
  numbers(numbersIn("secret", bodies).filter((number) => shapes[number]?.unredacted === null));

/** An envelope with its decoded text. */
function decoded(envelope: Buffer): Buffer {
  const { body_b64: text, ...rest } = JSON.parse(String(envelope)) as { body_b64: string };
  return Buffer.concat([Buffer.from(JSON.stringify(rest)), Buffer.from(text, "base64")]);
}

/** A match in a form that redaction does not know. */
const isUnredacted = ({ form, context }: Find): boolean =>
  form === "in base64" ||
  shapes.some(({ unredacted }, number) => unredacted !== null && context.includes(canary("secret", number)));

/** The stored bodies, decrypted with the keys of a folder. */
async function openBodies(rows: readonly unknown[], folder: string): Promise<Buffer> {
  const keys = createBodyKeyFolder(folder);
  const bodies = [];
  for (const row of rows as readonly Selectable<CloudSchema["request_bodies"]>[]) {
    for (const direction of ["request", "response"] as const) {
      const [sealed, keyId] = [row[`${direction}_body`], row[`${direction}_key_id`]];
      if (sealed === null) continue;
      const key = await keys.read(keyId ?? assert.fail("a body is not encrypted"));
      const place = { workspaceId: row.workspace_id, requestId: row.request_id, direction };
      bodies.push(await openBody(sealed, key ?? assert.fail(`no key ${keyId}`), place));
    }
  }
  return Buffer.concat(bodies);
}

/** The rows of all tables of a stopped cloud. */
async function readCloudTables(
  url: string | null,
  folder: string,
): Promise<{ table: string; rows: readonly unknown[] }[]> {
  return await withCloudRows(
    url === null ? await openPgliteFolder(folder) : openPostgres(url, systemClock),
    async (db) => {
      const { rows: names } = await sql<{ table: string }>`
        select case table_schema when 'public' then '' else table_schema || '.' end || table_name as table
        from information_schema.tables
        where table_schema not in ('pg_catalog', 'information_schema')`.execute(db);
      const tables = [];
      for (const { table } of names) {
        tables.push({ table, rows: (await sql`select * from ${sql.table(table)}`.execute(db)).rows });
      }
      return tables;
    },
  );
}

async function dataFolder(postgres: PostgresServer): Promise<string> {
  return await withCloudRows(openPostgres(postgres.url("postgres"), systemClock), async (db) => {
    const { rows } = await sql<{ data_directory: string }>`show data_directory`.execute(db);
    return rows[0]?.data_directory ?? "";
  });
}

async function withCloudRows<T>(
  database: Parameters<typeof openCloudDatabase>[0],
  work: (db: CloudDatabase) => Promise<T>,
): Promise<T> {
  const db = openCloudDatabase(database);
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}
