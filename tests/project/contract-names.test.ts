import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readPrivacyChange } from "../../cli/commands/cloud/privacy/privacy-change.ts";
import { commandsFor } from "../../cli/commands/commands-for.ts";
import { API_ROUTES, type ApiRoute, refusalStatuses } from "../../cloud/api/api-routes.ts";
import { createEmptyHome, runWords } from "../cli/run-command.rig.ts";

/** Every command of the specification with its options, row by row. Source: docs/specification.md#command-line. */
const commands: readonly (readonly [words: string, ...options: string[]])[] = [
  ["cloud connect", "--base-url", "--force"],
  ["cloud disconnect"],
  ["cloud status", "--json"],
  ["cloud whoami"],
  ["cloud sync"],
  ["sync"],
  ["cloud reconcile"],
  ["cloud pause"],
  ["cloud resume"],
  ["cloud privacy show"],
  ["cloud privacy set", "--project"],
  ["cloud bodies status", "--days"],
  ["pricing refresh"],
  ["pricing status"],
  ["pricing auto-pull"],
  ["recompute-costs"],
  ["report"],
  ["project"],
  ["bodies show"],
  ["bodies stats"],
  ["init", "--apps"],
  ["start"],
  ["stop"],
  ["status"],
  ["uninstall", "--purge", "--include-logs"],
  ["doctor"],
];

describe("the specification's commands", async () => {
  const paths = (await commandsFor([])).flatMap(({ paths }) => (paths ?? []).map((words) => words.join(" ")));
  for (const [words, ...options] of commands) {
    it(`meter ${[words, ...options].join(" ")}`, async () => {
      assert.ok(paths.includes(words));
      const { home, remove } = createEmptyHome();
      const { code, stdout } = await runWords(home, [...words.split(" "), "--help"]);
      remove();
      assert.equal(code, 0);
      for (const option of options) assert.match(stdout, new RegExp(`^ {2}${option}\\b`, "m"));
    });
  }
});

describe("the specification's arguments of cloud privacy set", () => {
  const rows: readonly (readonly [key: string, values: readonly string[], project?: string])[] = [
    ["preset", ["minimal", "standard", "full"]],
    ["field.prompt_hash", ["true", "false"]],
    ["field.source_workdir", ["true", "false"]],
    ["upload", ["false"], "web"],
    ["bodies.enabled", ["true", "false"]],
    ["bodies.upload", ["false"], "web"],
    ["bodies.upload-from", ["now", "2026-11-21", "2026-11-21T10:00:00Z", "none"]],
  ];
  for (const [key, values, project] of rows) {
    for (const value of values) {
      it(`${key} ${value}${project === undefined ? "" : ` --project ${project}`}`, () => {
        const change = readPrivacyChange(
          { key, value, project },
          { table: {}, bodiesEnabled: false, now: 0 },
        );
        assert.ok(change.ok && change.changes.length > 0);
      });
    }
  }
});

/** The specification's endpoints, and the statuses that it names for each. Source: docs/specification.md#reading and "Errors". */
const endpoints: readonly (readonly [route: string, ...statuses: number[]])[] = [
  ["POST /v1/requests/batch", 401, 403],
  ["POST /v1/requests/:id/body", 200, 204, 400, 401, 404, 425],
  ["GET /v1/traces/:request_id/body", 403],
  ["POST /v1/audit/prompt-views"],
  ["GET /v1/workspaces/:ws/audit/prompt-views"],
  ["GET /v1/workspaces/:ws/settings/advanced"],
  ["POST /v1/consent/checkout"],
  ["POST /v1/pairing/start"],
  ["POST /v1/pairing/poll"],
  ["GET /v1/daemon/whoami", 200, 401],
  ["GET /v1/pricing/rates", 401],
  ["GET /v1/reconciliation/daemon-totals", 401, 422],
  ["GET /v1/workspaces/:ws/analytics", 400],
  ["GET /v1/workspaces/:ws/traces", 400],
  ["GET /v1/workspaces/:ws/overview"],
  ["GET /v1/workspaces/:ws/optimisation"],
];

describe("the specification's endpoints", () => {
  const table: Readonly<Record<string, ApiRoute>> = API_ROUTES;
  for (const [name, ...statuses] of endpoints) {
    it(`${name} ${statuses.join(", ")}`, () => {
      const route = table[name];
      assert.ok(route !== undefined);
      const known = [...Object.keys(route.answers).map(Number), ...refusalStatuses(route)];
      assert.deepEqual(
        statuses.filter((status) => !known.includes(status)),
        [],
      );
    });
  }

  it("overview and optimisation never refuse a period for where it begins", () => {
    for (const name of ["overview", "optimisation"]) {
      const route = table[`GET /v1/workspaces/:ws/${name}`];
      assert.ok(route !== undefined && !refusalStatuses(route).includes(400), name);
    }
  });
});
