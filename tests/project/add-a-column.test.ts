import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { installPackages } from "../../tools/packages.ts";

await installPackages("tools/build");
const root = resolve(import.meta.dirname, "../..");

/** What docs/guides/add-a-column.md tells to write: each file, the text before which a line is inserted, and the line. */
const EDITS: readonly (readonly [file: string, before: string, line: string])[] = [
  [
    "core/values/record-fields.ts",
    "} as const satisfies Readonly<Record<string, RecordField & RequiredDetails>>;",
    'region: { column: "region", type: "text", maxCharacters: 64, nullable: true, upload: "standard" },',
  ],
  ["daemon/capture/to-record.ts", "providerResponseId: report", 'region: "eu-west-1",'],
  [
    "daemon/store/migrations.ts",
    "];\n\n/** The latest schema version",
    `{
      to: migrationsBefore + 1,
      statements: ["ALTER TABLE requests ADD COLUMN region TEXT"],
      expects: { columns: { requests: ["region"] } },
    },`,
  ],
  [
    "cloud/store/migrate.ts",
    "];\n\n/** The advisory lock's key",
    '{ name: "9999-region", statements: ["alter table requests add column region text"] },',
  ],
];

/** Writes, sends and reads a record with the new field, and prints how each program shows it. */
const SCRIPT = `
import { createRig } from "./tests/cloud/kit/cloud-rig.ts";
import { pgliteEngine } from "./tests/cloud/kit/engines.ts";
import { sampleRecord } from "./tests/daemon/store/sample-records.rig.ts";
import { withStore } from "./tests/daemon/store/open-sample-store.rig.ts";
import { openApiDocument } from "./cloud/api/open-api.ts";
import { toOutgoingRecord } from "./core/privacy/policy/outgoing-record.ts";
import { requestItemSchema } from "./core/wire/loopback-data.ts";
import { requestJson } from "./daemon/api/request-json.ts";
import * as v from "valibot";

const rig = await createRig(pgliteEngine());
const workspace = await rig.addWorkspace();
await withStore(async (store) => {
  const record = sampleRecord({ region: "eu-west-1", requestedAt: rig.clock.now() });
  store.records.insert([record]);
  const found = await store.records.find(record.requestId);
  if (found.kind !== "found") throw new Error(found.kind);
  const local: string | null = v.parse(requestItemSchema, requestJson(found.request)).region;
  const sent = ["minimal", "standard"].map((preset) => {
    const outgoing = toOutgoingRecord(found.request, { preset, fields: {}, perProject: {} } as never);
    if (outgoing.kind !== "send") throw new Error(outgoing.kind);
    return outgoing.record;
  });
  const post = async (index: number) => {
    const batch = { daemon_version: "0.4.0", records: [sent[index]] };
    const answer = await rig.call("POST", "/v1/requests/batch", workspace.token, batch);
    return (await answer.json()) as Record<string, unknown>;
  };
  const session = await rig.sessionFor(workspace.userId);
  const read = async () => {
    const path = "/v1/workspaces/" + workspace.id + "/traces/" + record.requestId;
    const answer = await rig.call("GET", path, session);
    return ((await answer.json()) as Record<string, unknown>).region;
  };
  const { accepted } = await post(0);
  const withheld = await read();
  const { duplicates } = await post(1);
  const openApi = JSON.stringify(openApiDocument("https://meter.example")).includes('"region"');
  console.log(JSON.stringify({ local, accepted, withheld, duplicates, filled: await read(), openApi }));
});
await rig.close();
`;

function edit(folder: string, [file, before, line]: (typeof EDITS)[number]): void {
  const path = join(folder, file);
  const text = readFileSync(path, "utf8");
  assert.equal(text.split(before).length, 2, `${file}: ${before}`);
  const version = [...text.matchAll(/^ {4}to: (\d+),$/gm)].at(-1)?.[1] ?? "";
  writeFileSync(
    path,
    text.replace(before, () => `${line.replace("migrationsBefore", version)}\n${before}`),
  );
}

describe("a new field of the record", () => {
  const folder = mkdtempSync(join(tmpdir(), "meter-column-"));
  before(() => {
    for (const part of ["adapters", "cloud", "core", "daemon", "pages", "package.json", "tsconfig.json"]) {
      cpSync(join(root, part), join(folder, part), { recursive: true, force: true });
    }
    for (const part of ["tests/cloud/kit", "tests/daemon/store", "tests/core/values"]) {
      mkdirSync(join(folder, part), { recursive: true });
      cpSync(join(root, part), join(folder, part), { recursive: true });
    }
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    for (const each of EDITS) edit(folder, each);
    writeFileSync(join(folder, "script.ts"), SCRIPT);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const run = (command: string, ...args: readonly string[]) => {
    const { stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: "utf8" });
    return { stdout, stderr };
  };

  it("needs one line of the table, the code that measures it, and a migration per database", () => {
    const config = {
      extends: "./tsconfig.json",
      include: ["core", "adapters", "daemon", "cloud", "pages", "script.ts"],
    };
    writeFileSync(join(folder, "tsconfig.copy.json"), JSON.stringify(config));
    assert.deepEqual(run("tsc", "-p", "tsconfig.copy.json"), {
      stdout: "",
      stderr: "",
    });
  });

  it("is stored in SQLite, sent, filled in by the cloud, and shown in JSON and OpenAPI", () => {
    const { stdout, stderr } = run(process.execPath, "script.ts");
    assert.deepEqual(JSON.parse(stdout || JSON.stringify(stderr)), {
      local: "eu-west-1",
      accepted: 1,
      withheld: null,
      duplicates: 1,
      filled: "eu-west-1",
      openApi: true,
    });
  });
});
