import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, it } from "node:test";
import { openCertificateAuthority } from "../../../adapters/certificates/certificate-authority.ts";
import { type InstallPlan, makeInstallPlan } from "../../../cli/install/install-plan.ts";
import type { InstallRecord } from "../../../core/operations/install/step.ts";
import { normaliseSlug } from "../../../core/values/slug/normalise-slug.ts";

const record: InstallRecord = {
  format: 1,
  meter_version: "0.4.0",
  name: "meter",
  apps: false,
  trusted_files: [],
  daemon_environment: {},
  entries: [],
};

describe("makeInstallPlan()", { skip: process.platform !== "linux" && "a Linux machine is planned" }, () => {
  let home: string;
  let earlierPem: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "meter-plan-"));
    const directory = join(home, "ca");
    const earlier = { directory, hosts: ["api.openai.com"], now: Date.now() };
    earlierPem = openCertificateAuthority(earlier).certificatePem;
    mkdirSync(join(home, "bin"));
    // Adds root's command to the system's list.
    writeFileSync(join(home, "bin", "trust"), "#!/bin/sh\n", { mode: 0o755 });
  });
  afterEach(() => rmSync(home, { recursive: true }));

  const plan = (
    earlier: InstallRecord | null,
    listed: readonly string[] | null,
    create = true,
  ): Promise<InstallPlan> =>
    makeInstallPlan(
      home,
      { HOME: home, PATH: join(home, "bin") },
      { apps: false, create },
      earlier,
      async () => ({ code: 1, isTimedOut: false, stdout: "", stderr: "" }),
      async () => listed,
    );
  it("gives programs the proxy's password, with a user name that names no project", async () => {
    writeFileSync(join(home, "config.toml"), '[proxy]\nport = 18081\npassword = "a b\'c@d"\n');
    const { steps } = await makeInstallPlan(
      home,
      { HOME: home, PATH: join(home, "bin"), SHELL: "/bin/bash" },
      { apps: true, create: true },
      null,
      async () => ({ code: 1, isTimedOut: false, stdout: "", stderr: "" }),
      async () => null,
    );
    const files = steps.flatMap(({ step }) =>
      step.kind === "file" && step.path.endsWith("env.sh") ? [step] : [],
    );
    assert.equal(files.length, 1);
    assert.match(files[0]?.text ?? "", /HTTPS_PROXY 'http:\/\/-:a%20b'\\''c%40d@127\.0\.0\.1:18081'/);
    assert.equal(files[0]?.mode, 0o600);
    assert.equal(normaliseSlug("-"), "");
  });

  it("sets the status line of Claude Code if asked to, and again if an earlier run did", async () => {
    const planned = (env: Record<string, string>, earlier: InstallRecord | null, statusline: boolean) =>
      makeInstallPlan(
        home,
        { HOME: home, PATH: join(home, "bin"), ...env },
        { apps: false, create: true, statusline },
        earlier,
        async () => ({ code: 1, isTimedOut: false, stdout: "", stderr: "" }),
        async () => null,
      );
    const memberOf = ({ steps }: InstallPlan) => steps.find(({ step }) => step.kind === "member")?.step;
    assert.equal(memberOf(await planned({}, null, false)), undefined);
    const step = memberOf(await planned({ CLAUDE_CONFIG_DIR: join(home, "claude") }, null, true));
    assert.ok(step?.kind === "member");
    assert.equal(step.path, join(home, "claude", "settings.json"));
    assert.match(
      step.value,
      /^\{"type":"command","command":"METER_HOME='.*' '.*node' '.*bin\.js' statusline"\}$/,
    );
    const entry = { step, before: { existed: false, inserted: "x" }, state: "done" } as const;
    assert.ok(memberOf(await planned({}, { ...record, entries: [entry] }, false)) !== undefined);
  });

  const renewed = () => readFileSync(join(home, "ca", "ca.pem"), "utf8");

  it("keeps the certificate that programs trust in the record until they trust the new one", async () => {
    const apps = await plan({ ...record, apps: true }, null);
    assert.equal(apps.record.authority, earlierPem, "an earlier version recorded only its steps");
    assert.equal(apps.certificatePem, renewed());
    assert.notEqual(apps.certificatePem, earlierPem);
    const again = await plan({ ...record, authority: earlierPem }, null);
    assert.equal(again.record.authority, earlierPem);
    assert.equal((await plan(record, null)).record.authority, undefined, "no program trusts it");
  });

  it("tells root how to replace a certificate that was put into the system's list by hand", async (t) => {
    const preview = await plan(record, [earlierPem], false);
    if (preview.machine.trustStores.length > 0) return t.skip("init changes the system's list itself here");
    const [, note] = preview.notes;
    assert.match(note?.text ?? "", /an earlier certificate of the meter, and only root can replace it/);
    assert.match(note?.command ?? "", /^sudo .* && meter init --yes$/);
    const { certificateByHand, certificatePem } = await plan(record, [earlierPem]);
    assert.equal(certificateByHand, earlierPem);
    const done = await plan(record, [certificatePem], false);
    assert.equal(done.certificateByHand, certificatePem);
    assert.equal(done.notes.length, 1, "nothing is left to do for root");
    // A program may use either of two certificates.
    assert.equal((await plan(record, [certificatePem, earlierPem])).certificateByHand, earlierPem);
  });
});
