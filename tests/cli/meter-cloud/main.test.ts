import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { sql } from "kysely";
import { createBodyKeyFolder } from "../../../adapters/body-keys/key-folder.ts";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { cloudExitCodeTable } from "../../../cli/meter-cloud/cloud-exit-codes.ts";
import { version } from "../../../cli/program/version.ts";
import { setPlan } from "../../../cloud/accounts/admin.ts";
import { distributionSql } from "../../../cloud/store/distribute.ts";
import { CLOUD_MIGRATIONS } from "../../../cloud/store/migrate.ts";
import { TABLE_PLACES } from "../../../cloud/store/table-places.ts";
import { BUNDLED_RATES_DATE } from "../../../core/pricing/bundled-rates.data.ts";
import { emptyHead } from "../../../core/privacy/ledger/chain.ts";
import { appendPromptView } from "../../../core/privacy/ledger/prompt-view-chain.ts";
import { createRig } from "../../cloud/kit/cloud-rig.ts";
import { CITUS_NODE, describeOnPostgres, newDatabaseName } from "../../cloud/kit/engines.ts";
import { sendBody, sendRequest } from "../../cloud/kit/stored-body.ts";
import { runCloudWords } from "./run-cloud-command.rig.ts";

const folder = mkdtempSync(join(tmpdir(), "meter-cloud-words-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const commands = [
  ...["serve", "migrate", "admin create-user", "admin set-plan", "admin list"],
  ...["rates seed", "rates publish", "ledger verify", "purge", "doctor"],
];

describe("meter-cloud", () => {
  it("has the version of the package, and lists its commands and exit codes", async () => {
    assert.deepEqual(await runCloudWords(["--version"]), { code: 0, stdout: `${version}\n`, stderr: "" });
    const { code, stdout, stderr } = await runCloudWords(["--help"]);
    assert.deepEqual([code, stderr], [0, ""]);
    for (const command of commands) assert.ok(stdout.includes(`meter-cloud ${command}`), command);
    for (const [number, meaning] of cloudExitCodeTable)
      assert.ok(stdout.includes(`  ${number}  ${meaning}\n`));
  });

  for (const command of commands) {
    it(`shows examples: meter-cloud ${command} --help`, async () => {
      const { code, stdout, stderr } = await runCloudWords([...command.split(" "), "--help"]);
      assert.deepEqual([code, stderr], [0, ""]);
      assert.match(stdout, new RegExp(`\nExamples\n[\\s\\S]*\n {2}\\$ meter-cloud ${command}`));
      assert.ok(!/#\d/.test(stdout));
    });
  }

  for (const words of [
    ["bogus"],
    ["serve", "--bogus"],
    ["ledger"],
    ["ledger", "verify", "x"],
    ["rates", "publish"],
  ]) {
    it(`exits with 2 and a reason: meter-cloud ${words.join(" ")}`, async () => {
      const { code, stdout, stderr } = await runCloudWords(words, { METER_CLOUD_HOME: folder });
      assert.deepEqual([code, stdout], [2, ""]);
      assert.match(stderr, /^meter-cloud: /);
    });
  }

  it("exits with 3 if the configuration is invalid, without a stack trace", async () => {
    const { code, stderr } = await runCloudWords(["serve", "--port", "high"], { METER_CLOUD_HOME: folder });
    assert.deepEqual(
      [code, stderr],
      [
        3,
        'meter-cloud: The configuration is invalid:\n  --port must be a whole number from 0 to 65535, but is "high".\n',
      ],
    );
  });

  it("exits with 3 if the certificate is invalid", async () => {
    const path = join(folder, "none.pem");
    writeFileSync(path, "no certificate");
    const env = { METER_CLOUD_HOME: folder };
    const none = await runCloudWords(["serve", "--tls-cert", path, "--tls-key", `${path}x`], env);
    assert.deepEqual([none.code, none.stdout], [3, ""]);
    assert.match(none.stderr, /server\.tls_key: .*none\.pemx can't be read: ENOENT/);
    const bad = await runCloudWords(["serve", "--tls-cert", path, "--tls-key", path], env);
    assert.deepEqual([bad.code, bad.stdout], [3, ""]);
    assert.match(
      bad.stderr,
      /server\.tls_cert, server\.tls_key: the files are not a certificate and its key: /,
    );
  });

  it("reports an unreachable database without its password", async () => {
    const env = { METER_CLOUD_HOME: folder, DATABASE_URL: "postgres://meter:canary@127.0.0.1:1/meter" };
    const { code, stderr } = await runCloudWords(["migrate"], env);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^meter-cloud: The database can't be reached: .*ECONNREFUSED.*\.\nCheck DATABASE_URL and the server: pg_isready /,
    );
    assert.ok(!stderr.includes("canary"));
  });
});

describeOnPostgres("meter-cloud's commands", (engine) => {
  it("migrate lists the migrations it ran, and runs none twice", async () => {
    const { close, db } = await engine.open();
    const name = newDatabaseName();
    await sql.raw(`create database ${name} template template0`).execute(db);
    const env = { METER_CLOUD_HOME: folder, DATABASE_URL: engine.server()?.url(name) ?? "" };
    const before = await runCloudWords(["rates", "seed"], env);
    assert.deepEqual(
      [before.code, before.stderr],
      [
        1,
        "meter-cloud: The database has no tables of this version.\nCreate or update them: meter-cloud migrate\n",
      ],
    );
    const first = await runCloudWords(["migrate", "--json"], env);
    assert.deepEqual(JSON.parse(first.stdout), { applied: CLOUD_MIGRATIONS.map(({ name }) => name) });
    assert.deepEqual(await runCloudWords(["migrate"], env), {
      code: 0,
      stdout: "The database is up to date.\n",
      stderr: "",
    });
    const seeded = await runCloudWords(["rates", "seed", "--json"], env);
    assert.deepEqual(JSON.parse(seeded.stdout), { added: 0, provenance_date: BUNDLED_RATES_DATE });
    await close();
  });

  it("doctor names the keys that can't be read, and the command that gives up on them", async () => {
    const rig = await createRig(engine);
    try {
      const workspace = await rig.addWorkspace({ storePromptContent: true });
      for (const project of ["apollo", "it's", "zeus"]) {
        const requestId = await sendRequest(rig, workspace, { project });
        assert.equal((await sendBody(rig, workspace, requestId, "text")).status, 204);
      }
      const home = mkdtempSync(join(folder, "doctor-"));
      const env = { METER_CLOUD_HOME: home, DATABASE_URL: rig.url ?? "" };
      const keysFolder = join(home, "body-keys");
      const store = createBodyKeyFolder(keysFolder);
      const [apollo = "", its = "", zeus = ""] = [...rig.bodyKeys.stored.keys()];
      const save = async (keyId: string) =>
        await store.write(keyId, rig.bodyKeys.stored.get(keyId) ?? new Uint8Array());
      await save(apollo);
      await save(zeus);
      writeFileSync(join(keysFolder, `${zeus}.key`), "damaged");
      const erase = `meter-cloud erase --workspace ${workspace.id} --person ${workspace.userId}`;
      assert.deepEqual(await runCloudWords(["doctor"], env), {
        code: 1,
        stdout: [
          `2 of 3 keys of stored bodies can't be read in ${keysFolder}.`,
          "Bodies that they encrypt can't be read, and new ones of these people and projects are not stored.",
          "Mount the folder, or copy the files back. Machines then send what was not stored.",
          "If a key is lost for good, erase what it encrypted; bodies of later requests get a new key:",
          `  ${its}.key is missing:`,
          `    ${erase} --project 'it'\\''s' --now`,
          `  ${zeus}.key is unreadable:`,
          `    ${erase} --project zeus --now`,
          "",
        ].join("\n"),
        stderr: "",
      });
      const { code, stdout } = await runCloudWords(["doctor", "--json"], env);
      const owner = { workspaceId: workspace.id, userId: workspace.userId };
      assert.deepEqual(
        [code, JSON.parse(stdout)],
        [
          1,
          {
            ...{ folder: keysFolder, keys: 3 },
            unavailable: [
              { ...owner, project: "it's", keyId: its, fault: "missing" },
              { ...owner, project: "zeus", keyId: zeus, fault: "unreadable" },
            ],
          },
        ],
      );
      await save(its);
      const scope = ["--workspace", workspace.id, "--person", workspace.userId, "--project", "zeus"];
      assert.equal((await runCloudWords(["erase", ...scope, "--now"], env)).code, 0);
      assert.deepEqual(await runCloudWords(["doctor"], env), {
        code: 0,
        stdout: `The keys of stored bodies can be read: 2 keys in ${keysFolder}.\n`,
        stderr: "",
      });
    } finally {
      await rig.close();
    }
  });

  it("migrate --distribute needs Citus, --print prints its SQL without a database, --totals counts every table", async () => {
    const { close, url } = await engine.open();
    const env = { METER_CLOUD_HOME: folder, DATABASE_URL: url ?? "" };
    const migrate = (...words: string[]) => runCloudWords(["migrate", ...words], env);
    const distributed = await migrate("--distribute");
    if (engine.name === "citus" && CITUS_NODE !== null)
      assert.match(distributed.stderr, /^meter-cloud: The database is a worker of a cluster\./);
    else if (engine.name === "citus") assert.equal(distributed.stdout, "All tables are distributed.\n");
    else {
      assert.equal(distributed.code, 1);
      assert.match(
        distributed.stderr,
        /^meter-cloud: The database has no Citus extension.*\nAdd it on every node/,
      );
    }
    const unreachable = { ...env, DATABASE_URL: "postgres://127.0.0.1:1/none" };
    const printed = await runCloudWords(["migrate", "--distribute", "--print"], unreachable);
    assert.equal(
      printed.stdout,
      `${distributionSql()
        .map((text) => `${text};`)
        .join("\n")}\n`,
    );
    const totals = JSON.parse((await migrate("--totals")).stdout);
    assert.deepEqual(Object.keys(totals), Object.keys(TABLE_PLACES).sort());
    assert.deepEqual([totals.requests.rows, totals.requests.cost_pico_usd], ["0", "0"]);
    assert.deepEqual(totals.cloud_migrations, { rows: String(CLOUD_MIGRATIONS.length) });
    assert.equal((await migrate("--print")).code, 2);
    await close();
  });

  it("admin creates an account that can sign in, lists its workspaces, and sets their plan", async () => {
    const { close, url } = await engine.open();
    const env = { METER_CLOUD_HOME: folder, DATABASE_URL: url ?? "" };
    const admin = (...words: string[]) => runCloudWords(["admin", ...words], env);
    const made = await admin("create-user", "--email", "Ann@example.com", "--name", "Ann", "--json");
    assert.deepEqual([made.code, made.stderr], [0, ""]);
    const { workspace_id, password } = JSON.parse(made.stdout);
    assert.match(password, /^[\w-]{16}$/);
    assert.deepEqual(await admin("create-user", "--email", "ann@example.com"), {
      ...{ code: 1, stdout: "" },
      stderr: "meter-cloud: An account with this email address already exists.\n",
    });
    const short = join(folder, "password");
    writeFileSync(short, "short\n");
    assert.match(
      (await admin("create-user", "--email", "ben@example.com", "--password-file", short)).stderr,
      /must have 12 to 128 characters/,
    );
    assert.deepEqual(await admin("set-plan", workspace_id, "team"), {
      ...{ code: 0, stderr: "" },
      stdout: `Workspace ${workspace_id} is on the plan team.\n`,
    });
    assert.deepEqual(JSON.parse((await admin("list", "ann@example.com", "--json")).stdout), [
      { workspace_id, name: "Main", plan: "team", role: "admin" },
    ]);
    assert.equal((await admin("list", "nobody@example.com")).code, 4);
    assert.equal(
      (await admin("set-plan", workspace_id.replace(/.$/, "0").replace(/^./, "f"), "team")).code,
      4,
    );
    assert.equal((await admin("set-plan", workspace_id, "gold")).code, 2);
    await close();
  });

  it("rates publish accepts a file as a whole or not at all, and one file per day", async () => {
    const rig = await createRig(engine);
    const env = { METER_CLOUD_HOME: folder, DATABASE_URL: rig.url ?? "" };
    const publish = async (published: unknown, ...words: string[]) => {
      const path = join(folder, "rates.json");
      writeFileSync(path, JSON.stringify(published));
      return await runCloudWords(["rates", "publish", path, ...words], env);
    };
    const rate = {
      provider: "openai",
      model: "gpt-4o",
      input: "2.75",
      output: "11",
      cache_read: "1.25",
      cache_write: null,
    };
    const pull = (more: object) => ({
      published_at: "2026-11-20T00:00:00Z",
      unit: "usd_per_million_tokens",
      rates: [{ ...rate, ...more }],
    });
    const wild = await publish(pull({ input: "250" }));
    assert.equal(wild.code, 1);
    assert.match(
      wild.stderr,
      /invalid; nothing was published:\n {2}openai gpt-4o input would change by more than a factor of 10: 2\.5 to 250\n$/,
    );
    assert.match(
      (await publish({ unit: "x" })).stderr,
      /invalid; nothing was published:\n {2}published_at: /,
    );
    const dry = await publish(pull({}), "--dry-run", "--json");
    assert.deepEqual(JSON.parse(dry.stdout), { published: 1, dry_run: true });
    assert.deepEqual(await publish(pull({})), { code: 0, stdout: "Published 1 rates.\n", stderr: "" });
    assert.match((await publish(pull({}))).stderr, /published_at has published rates already: 2026-11-20/);

    const { token } = await rig.addWorkspace();
    const { rates } = (await (await rig.call("GET", "/v1/pricing/rates", token)).json()) as {
      rates: (typeof rate)[];
    };
    assert.equal(
      rates.find(({ provider, model }) => provider === "openai" && model === "gpt-4o")?.input,
      "2.75",
    );
    await rig.close();
  });

  it("ledger verify confirms rows with a saved head, and exits with 5 if one was changed", async () => {
    const rig = await createRig(engine);
    const env = { METER_CLOUD_HOME: folder, DATABASE_URL: rig.url ?? "" };
    const workspace = await rig.addWorkspace();
    let head = emptyHead(workspace.id);
    for (const reason of ["incident 1", "incident 2", "incident 3"]) {
      const view = {
        ...{ workspace_id: workspace.id, view_id: rig.uuid(), request_id: rig.uuid() },
        ...{ viewer_user_id: "ann", subject_user_id: "ben", consent_grant_id: null, reason },
        ...{ viewed_at: "2026-11-21T10:00:00.000Z", client_ip: null, user_agent: null },
        ...{ request_sha256: null, response_sha256: "a".repeat(64) },
      };
      const appended = appendPromptView(head, view, sha256);
      head = appended.head;
      await rig.db
        .insertInto("prompt_views")
        .values({ ...appended.row, viewed_at: Date.parse(view.viewed_at) })
        .execute();
    }
    await rig.db.insertInto("prompt_view_heads").values(head).execute();
    await setPlan(rig, workspace.id, "team");
    const saved = join(folder, "head.json");
    const verify = (...words: string[]) => runCloudWords(["ledger", "verify", workspace.id, ...words], env);
    const first = await verify("--save-head", saved);
    assert.deepEqual([first.code, first.stderr], [0, ""]);
    assert.match(first.stdout, /^Prompt views: intact, 3 rows\.\n/);
    assert.match(first.stdout, /^Audit events: intact, 1 row\.\n/m);
    const { prompt_views: views } = JSON.parse(readFileSync(saved, "utf8"));
    assert.deepEqual(views, { seq: head.seq, hash: head.hash, outside_chain: 0 });
    const proven = (await verify("--head", saved)).stdout;
    assert.match(proven, /^Prompt views: intact, 3 rows, 3 of them confirmed by the saved head\.\n/);
    assert.match(proven, /^Audit events: intact, 1 row, 1 of them confirmed by the saved head\.\n/m);
    // As saved by versions that verified only prompt views.
    writeFileSync(saved, JSON.stringify(head));
    assert.match(
      (await verify("--head", saved)).stdout,
      /^Prompt views: intact, 3 rows, 3 of them confirmed/,
    );

    const stranger = await runCloudWords(["ledger", "verify", rig.uuid(), "--head", saved], env);
    assert.match(stranger.stderr, /contains no saved heads of this workspace/);

    await sql`update prompt_views set reason = 'none' where seq = 2`.execute(rig.db);
    const changed = await verify("--json");
    assert.equal(changed.code, 5);
    const verdict = JSON.parse(changed.stdout);
    assert.deepEqual(
      [verdict.ok, verdict.prompt_views, verdict.audit_events.ok],
      [false, { ok: false, fault: "row_changed", seq: 2, outsideChain: 0 }, true],
    );
    await sql`update audit_events set actor_user_id = 'eve'`.execute(rig.db);
    const both = await verify();
    assert.deepEqual([both.code, both.stderr], [5, ""]);
    assert.match(both.stdout, /^Prompt views: NOT INTACT, row changed at row 2\.\n/);
    assert.match(both.stdout, /^Audit events: NOT INTACT, row changed at row 1\.\n/m);
    assert.match(both.stdout, /^Costs: intact, 0 rows\.\n/m);
    await sql`insert into usage_daily (workspace_id, day, machine_id, user_id, project, provider, model, requests)
      values (${workspace.id}::uuid, '2026-11-21', ${rig.uuid()}::uuid, 'ann', 'web', 'openai', 'gpt-4o', 1)`.execute(
      rig.db,
    );
    assert.match(
      (await verify()).stdout,
      /^Costs: NOT INTACT, totals differ: requests in usage_daily at 2026-11-21: machine \S+, user ann, project "web", openai\/gpt-4o\.$/m,
    );
    await sql`delete from usage_daily`.execute(rig.db);
    await sql`insert into usage_branches (workspace_id, span_hours, starts_at, project, git_branch, provider, model, requests)
      select ${workspace.id}::uuid, 24, '2026-11-21T00:00:00Z', 'web', branch, 'openai', 'gpt-4o', requests
      from (values ('main', 1), ('topic', -1)) as moved (branch, requests)`.execute(rig.db);
    assert.match(
      (await verify()).stdout,
      /^Costs: NOT INTACT, totals differ: requests in usage_branches at 2026-11-21T00:00:00Z: branch "main", project "web", openai\/gpt-4o\.$/m,
    );
    await rig.close();
  });
});
