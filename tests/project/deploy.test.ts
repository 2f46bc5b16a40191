import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { describe, it } from "node:test";
import * as v from "valibot";
import { commands } from "../../cli/meter-cloud/commands/mod.ts";
import { SETTING_NAMES, settingsSchema, variableOf } from "../../cli/meter-cloud/settings.ts";
import { distributionSql } from "../../cloud/store/distribute.ts";
import { readSource, root } from "./source-files.rig.ts";

const files = globSync("deploy/**/*", { cwd: root, withFileTypes: false })
  .filter((file) => /(?:Dockerfile|\.(?:ya?ml|ini|conf|sh))$/.test(file))
  .map((file) => [file, readSource(file)] as const);
const text = (file: string) => files.find(([name]) => name === file)?.[1] ?? assert.fail(file);
const manifests = files.filter(([file]) => file.startsWith("deploy/kubernetes/"));
const compose = text("deploy/compose.yaml");

/** Secrets are set by these, or by a file that the variable with `_FILE` names. */
const SECRETS = ["DATABASE_URL", "METER_CLOUD_AUTH_SECRET", "METER_CLOUD_METRICS_TOKEN"];
const variables = new Set([
  ...SETTING_NAMES.map(([section, key]) => variableOf(section, key)),
  ...SECRETS.flatMap((name) => [name, `${name}_FILE`]),
  "METER_CLOUD_HOME",
]);
const matches = (pattern: RegExp, source = files.map(([, each]) => each).join("\n")) =>
  [...source.matchAll(pattern)].map(([, found]) => found as string);

describe("deploy/", () => {
  it("sets only variables that the program reads, with values that it takes", () => {
    const set = matches(/\b((?:METER_CLOUD|DATABASE)_[A-Z_]+)/g);
    assert.ok(set.length > 20);
    assert.deepEqual(
      [...new Set(set)].filter((name) => !variables.has(name)),
      [],
    );
    const values = [
      ...compose.matchAll(/^ +(METER_CLOUD_\w+): "?([^"\n]+)"?$/gm),
      ...manifests.flatMap(([, each]) => [
        ...each.matchAll(/name: (METER_CLOUD_\w+), value: "?([^"}]+?)"? }/g),
      ]),
    ];
    const settings: Record<string, Record<string, string>> = {};
    for (const [, name, value] of values) {
      const [section, key] = SETTING_NAMES.find(([a, b]) => variableOf(a, b) === name) ?? [];
      if (section === undefined || key === undefined || value?.startsWith("${")) continue;
      settings[section] = { ...settings[section], [key]: value as string };
    }
    assert.deepEqual(Object.keys(settings).sort(), ["database", "server"]);
    assert.ok(v.safeParse(settingsSchema, settings).success);
  });

  it("names commands, ports and paths of the program", () => {
    const words = commands.map(({ paths }) => paths[0]?.join(" "));
    const run = matches(/(?:command|args): \[(\w+)\]/g).concat(matches(/CMD \["(\w+)"\]/g));
    assert.deepEqual(new Set(run), new Set(["serve", "migrate"]));
    for (const each of run) assert.ok(words.includes(each), each);
    const { port } = v.parse(settingsSchema, { server: {} }).server;
    assert.deepEqual(
      new Set(matches(/(?:EXPOSE|containerPort:|cloud-\d:|127\.0\.0\.1:) ?(87\d\d)/g)),
      new Set([String(port)]),
    );
    const operations = readSource("cloud/http/operations.ts");
    const probes = new Set(matches(/(?:path: |:8787)(\/\w+)/g));
    assert.deepEqual(probes, new Set(["/healthz", "/readyz"]));
    for (const path of probes) assert.ok(operations.includes(`path === "${path}"`), path);
  });

  it("gives a process longer to stop than its times of draining", () => {
    const { drain_seconds } = v.parse(settingsSchema, { server: {} }).server;
    const delays = matches(/DRAIN_DELAY_SECONDS(?:"?: "|, value: ")(\d+)"/g).map(Number);
    const graces = [
      ...matches(/^ {2}stop_grace_period: (\d+)s/gm, compose),
      ...matches(/terminationGracePeriodSeconds: (\d+)/g),
    ].map(Number);
    assert.deepEqual([delays.length, graces.length], [2, 2]);
    assert.ok(Math.min(...graces) >= Math.max(...delays) + drain_seconds + 5);
  });

  it("runs every container without root, capabilities and a writable root", () => {
    for (const [file, each] of manifests) {
      const containers = matches(/^ {8}- name: \w+\n {10}image:()/gm, each).length;
      for (const line of [
        "runAsNonRoot: true",
        "readOnlyRootFilesystem: true",
        "allowPrivilegeEscalation: false",
        "capabilities: { drop: [ALL] }",
        "automountServiceAccountToken: false",
      ])
        assert.equal(each.split(line).length - 1, containers, `${file}: ${line}`);
      assert.equal(matches(/limits: (\{ cpu:)/g, each).length, containers, file);
    }
    for (const dockerfile of ["deploy/Dockerfile", "deploy/pgbouncer/Dockerfile"])
      assert.match(text(dockerfile), /\nUSER 1000:1000\n/);
  });

  it("contains no secret: each is a file or a reference", () => {
    const stated = matches(/^\s*secrets:\n((?: {2}\w+:\n {4}file: secrets\/\w+\n)+)/gm, compose).join("");
    const made = new Set(matches(/secrets\/(\w+)/g, stated));
    assert.equal(made.size, 8);
    assert.deepEqual(
      matches(/^create (\w+)/gm, text("deploy/create-secrets.sh")).sort(),
      [...made].filter((name) => !name.startsWith("tls_")).sort(),
    );
    assert.deepEqual(matches(/kind: (Secret)$/gm), []);
    const inManifests = manifests.map(([, each]) => each).join("\n");
    const values = matches(
      /name: ((?:DATABASE_URL|METER_CLOUD_AUTH_SECRET|METER_CLOUD_METRICS_TOKEN)\n.+)/g,
      inManifests,
    );
    assert.equal(values.length, 4);
    for (const each of values) assert.match(each, /^\w+\n +valueFrom: \{ secretKeyRef: /);
    assert.ok(readSource(".gitignore").includes("/deploy/secrets/"));
  });

  it("has one configuration of PgBouncer, which docs/hosting.md describes", () => {
    const lines = (source: string) =>
      source
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== "" && !line.startsWith(";"));
    const [inManifest = ""] = matches(
      /pgbouncer\.ini: \|\n((?: {4}.*\n|\n)+)/g,
      text("deploy/kubernetes/pgbouncer.yaml"),
    );
    assert.deepEqual(lines(inManifest), lines(text("deploy/pgbouncer/pgbouncer.ini")));
  });

  it("lets the nodes of a cluster connect to each other as the roles that may log in, from their own network", () => {
    const roles = distributionSql().flatMap(
      (statement) => /^alter role (\w+) login$/.exec(statement)?.[1] ?? [],
    );
    assert.equal(roles.length, 4);
    const trusted = matches(/^host meter (\S+ \S+) trust$/gm, text("deploy/citus/pg_hba.conf"));
    const [subnet] = matches(/subnet: (\S+)/g, text("deploy/compose.citus.yaml"));
    assert.deepEqual(trusted, [`${["meter", ...roles].join(",")} ${subnet}`]);
  });

  it("installs the packages that the program needs, in versions that it is tested with", () => {
    const manifest = JSON.parse(readSource("package.json"));
    const [names = ""] = matches(/\/package\/\*\.tgz (.+)$/gm, text("deploy/Dockerfile"));
    for (const each of names.split(" ")) {
      const [, name = "", range] = /^(.+)@(.+)$/.exec(each) ?? [];
      assert.equal(manifest.peerDependencies[name] ?? manifest.devDependencies[name], range, name);
    }
    assert.equal(new Set(matches(/image: meter-\w+:(\S+)/g)).size, 1);
    assert.deepEqual(new Set(matches(/image: meter-\w+:(\S+)/g)), new Set([manifest.version]));
  });
});
