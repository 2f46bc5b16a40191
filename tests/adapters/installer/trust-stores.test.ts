import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openCertificateAuthority } from "../../../adapters/certificates/certificate-authority.ts";
import { readPemBundle } from "../../../adapters/certificates/root-certificates.ts";
import { applySteps } from "../../../adapters/installer/apply-steps.ts";
import { findMachine } from "../../../adapters/installer/find-machine.ts";
import { createProgramRunner } from "../../../adapters/installer/run-program.ts";
import { undoEntries } from "../../../adapters/installer/undo-entries.ts";
import { mergePlan } from "../../../core/operations/install/merge-plan.ts";
import { planInstall, type TrustStore } from "../../../core/operations/install/plan-install.ts";
import type { InstallRecord } from "../../../core/operations/install/step.ts";
import { linuxFacts } from "../../core/operations/install/sample-facts.rig.ts";
import { inFolder } from "./machine.rig.ts";

const run = createProgramRunner();

const fingerprintOf = (pem: string) => new X509Certificate(pem).fingerprint.replaceAll(":", "");

const emptyRecord: InstallRecord = {
  ...({ format: 1, meter_version: "0", name: "meter", apps: false } as const),
  ...{ trusted_files: [], daemon_environment: {}, entries: [] },
};

/** Adds a real authority to a store below a folder, checks it, and removes it. */
async function tryStore(folder: string, store: TrustStore, look: () => void): Promise<void> {
  const directory = join(folder, "ca");
  const { certificatePem: pem } = openCertificateAuthority({
    directory,
    hosts: ["api.openai.com"],
    now: Date.now(),
  });
  const facts = linuxFacts({
    program: { ...linuxFacts().program, meterHome: folder },
    service: null,
    ca: {
      path: join(directory, "ca.pem"),
      pem,
      sha1: fingerprintOf(pem),
    },
    trustStores: [store],
  });
  const plan = mergePlan(planInstall(facts), [], new Set());
  const done = await applySteps(plan, emptyRecord, { run, save: () => {} });
  look();
  for (const { outcome, problem } of await undoEntries(done.entries, run))
    assert.equal(outcome, "undone", problem ?? "");
}

const noNss = spawnSync("certutil", ["-H"]).error === undefined ? false : "there is no NSS certutil here";
const noCollector =
  spawnSync("update-ca-certificates", ["--help"]).error === undefined
    ? false
    : "there is no update-ca-certificates here";

describe("trust stores", () => {
  it("of NSS add the authority and remove it", { skip: noNss }, () =>
    inFolder(async (folder) => {
      const database = join(folder, "nssdb");
      mkdirSync(database);
      execFileSync("certutil", ["-d", `sql:${database}`, "-N", "--empty-password"]);
      const list = () => execFileSync("certutil", ["-d", `sql:${database}`, "-L"], { encoding: "utf8" });
      const before = list();
      await tryStore(folder, { kind: "nss", folder: database }, () => {
        assert.match(list(), /^meter local CA +C,,/m);
      });
      assert.equal(list(), before);
    }),
  );

  it("of NSS replace the earlier certificate with the reissued one", { skip: noNss }, () =>
    inFolder(async (folder) => {
      const database = join(folder, "nssdb");
      mkdirSync(database);
      execFileSync("certutil", ["-d", `sql:${database}`, "-N", "--empty-password"]);
      const directory = join(folder, "ca");
      let record = emptyRecord;
      const trust = async (hosts: readonly string[]) => {
        const { certificatePem: pem } = openCertificateAuthority({ directory, hosts, now: Date.now() });
        const facts = linuxFacts({
          program: { ...linuxFacts().program, meterHome: folder },
          service: null,
          ca: { path: join(directory, "ca.pem"), pem, sha1: fingerprintOf(pem) },
          trustStores: [{ kind: "nss", folder: database }],
        });
        const plan = mergePlan(planInstall(facts), record.entries, new Set());
        record = await applySteps(plan, record, { run, save: () => {} });
        return pem;
      };
      await trust(["api.openai.com"]);
      const present = await trust(["api.openai.com", "api.anthropic.com"]);
      const list = execFileSync("certutil", ["-d", `sql:${database}`, "-L"], { encoding: "utf8" });
      assert.equal(list.match(/local CA/g)?.length, 1);
      const stored = execFileSync("certutil", ["-d", `sql:${database}`, "-L", "-a", "-n", "meter local CA"]);
      assert.equal(fingerprintOf(String(stored)), fingerprintOf(present));
    }),
  );

  it("of update-ca-certificates add it to the bundle and remove it", { skip: noCollector }, () =>
    inFolder(async (folder) => {
      const names = ["anchors", "certs", "none", "hooks"].map((name) => join(folder, name));
      for (const name of names) mkdirSync(name);
      const [anchorFolder, certs, none, hooks] = names as [string, string, string, string];
      // An empty file would make the collector start anew each time, which the system's does not.
      const conf = join(folder, "certs.conf");
      writeFileSync(conf, "# none\n");
      const words = [
        "update-ca-certificates",
        ...["--localcertsdir", anchorFolder, "--etccertsdir", certs, "--certsdir", none],
        ...["--certsconf", conf, "--hooksdir", hooks],
      ];
      // The collector does not change a bundle if no certificate is left for it.
      const other = openCertificateAuthority({
        directory: join(folder, "other"),
        hosts: [],
        now: Date.now(),
      });
      writeFileSync(join(anchorFolder, "other.crt"), other.certificatePem);
      await run(words);
      const before = readFileSync(join(certs, "ca-certificates.crt"), "utf8");
      await tryStore(folder, { kind: "update_ca_certificates", anchorFolder, words }, () => {
        const bundle = readFileSync(join(certs, "ca-certificates.crt"), "utf8");
        const subjects = readPemBundle(bundle, "").map((pem) => new X509Certificate(pem).subject);
        assert.equal(subjects.filter((subject) => subject.startsWith("CN=meter local CA ")).length, 2);
        assert.ok(readdirSync(certs).includes("meter-local-ca.pem"));
      });
      assert.deepEqual(readdirSync(anchorFolder), ["other.crt"]);
      assert.equal(readFileSync(join(certs, "ca-certificates.crt"), "utf8"), before);
      const dangling = readdirSync(certs).filter((name) => !existsSync(join(certs, name)));
      assert.deepEqual(dangling, [], "no link to what is gone");
    }),
  );
});

describe("findMachine()", () => {
  it("finds existing databases, and plans nothing that needs root", () =>
    inFolder(async (folder) => {
      const bin = join(folder, "bin");
      mkdirSync(bin);
      execFileSync("sh", [
        "-c",
        `for p in certutil update-ca-certificates; do echo exit 0 > ${bin}/$p; chmod 755 ${bin}/$p; done`,
      ]);
      const home = join(folder, "home");
      for (const profile of [".pki/nssdb", ".mozilla/firefox/x.default"]) {
        mkdirSync(join(home, profile), { recursive: true });
        execFileSync("touch", [join(home, profile, "cert9.db")]);
      }
      mkdirSync(join(home, ".mozilla/firefox/empty"));
      const env = { HOME: home, PATH: bin, SHELL: "/usr/bin/zsh" };
      const machine = await findMachine({ env, run, platform: "linux", uid: 1000 });
      assert.deepEqual(machine.trustStores, [
        { kind: "nss", folder: join(home, ".pki/nssdb") },
        { kind: "nss", folder: join(home, ".mozilla/firefox/x.default") },
      ]);
      assert.deepEqual(machine.startFiles, [{ path: join(home, ".zshrc"), shell: "posix" }]);
      assert.deepEqual([machine.service, machine.sessionFolder], [null, null]);
      const root = await findMachine({ env, run, platform: "linux", uid: 0 });
      assert.equal(root.trustStores[0]?.kind, "update_ca_certificates");
    }));

  it("detects macOS and Windows by their programs", () =>
    inFolder(async (folder) => {
      execFileSync("sh", [
        "-c",
        `cd ${folder}; for p in launchctl security schtasks.exe certutil.exe; do touch $p; chmod 755 $p; done`,
      ]);
      const env = { HOME: "/Users/u", PATH: folder, USERNAME: "u", USERDOMAIN: "PC", SHELL: "/bin/zsh" };
      const mac = await findMachine({ env, run, platform: "darwin", uid: 501 });
      assert.deepEqual(mac.service, {
        kind: "launchd",
        agentFolder: "/Users/u/Library/LaunchAgents",
        uid: 501,
      });
      assert.deepEqual(mac.trustStores, [
        { kind: "macos_keychain", keychain: "/Users/u/Library/Keychains/login.keychain-db" },
      ]);
      const windows = await findMachine({ env, run, platform: "win32" });
      assert.deepEqual(windows.service, { kind: "task_scheduler", user: "PC\\u" });
      assert.deepEqual([windows.trustStores, windows.startFiles], [[{ kind: "windows_user" }], []]);
    }));

  it("detects systemd only if it responds", () =>
    inFolder(async (folder) => {
      for (const code of [0, 1]) {
        execFileSync("sh", [
          "-c",
          `printf '#!/bin/sh\\nexit ${code}\\n' > ${folder}/systemctl; chmod 755 ${folder}/systemctl`,
        ]);
        const env = { HOME: "/home/u", PATH: folder, XDG_CONFIG_HOME: "/home/u/cfg" };
        const { service, sessionFolder } = await findMachine({
          env,
          run: createProgramRunner(env),
          platform: "linux",
        });
        assert.deepEqual(
          service,
          code === 0 ? { kind: "systemd", unitFolder: "/home/u/cfg/systemd/user" } : null,
        );
        assert.equal(sessionFolder, "/home/u/cfg/environment.d");
      }
    }));
});
