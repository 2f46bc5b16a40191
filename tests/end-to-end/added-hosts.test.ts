import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { connect } from "node:tls";
import { openCertificateAuthority } from "../../adapters/certificates/certificate-authority.ts";
import { readInstallRecord, writeInstallRecord } from "../../adapters/installer/install-record.ts";
import { createRegistry } from "../../core/metering/usage/registry.ts";
import type { InstallRecord, InstallStep } from "../../core/operations/install/step.ts";
import {
  createHome,
  freePort,
  type MeterProcess,
  onNodeOnly,
  removeHome,
  runCommand,
  SUITE_TIMEOUT_MS,
  simulationConfig,
  startMeter,
} from "./meter-process.rig.ts";
import { askForTunnel, rawCalls, receive } from "./raw-client.rig.ts";
import { useSimulation } from "./simulated-meter.rig.ts";

const DAY_MS = 86_400_000;

/** A host that the earlier version metered. */
const EARLIER_HOST = "api.openai.com";
/** A host that the update added. */
const ADDED_HOST = "api.anthropic.com";

const METERED = "200, metered";
const PASSED = "200, passed";

const step = (id: string): InstallStep => ({ kind: "commands", id, purpose: "", do: [], undo: [] });

/** An install record that an earlier version's `meter init` wrote. */
const recordOf = (more: Partial<InstallRecord>, ...steps: InstallStep[]): InstallRecord => ({
  format: 1,
  meter_version: "0.4.0",
  name: "meter",
  apps: false,
  trusted_files: [],
  daemon_environment: {},
  entries: steps.map((each) => ({ step: each, before: { existed: false }, state: "done" })),
  ...more,
});

interface Case {
  readonly name: string;
  readonly record: InstallRecord | null;
  /**
   * The responses that a program which trusts only the earlier certificate gets from the earlier and the added host.
   */
  readonly earlierClient: readonly [earlier: string, added: string];
  /** The responses that a program of `meter run` gets. */
  readonly runClient: readonly [earlier: string, added: string];
  readonly warning?: RegExp;
  /** Changes of the home since the earlier version. */
  readonly alter?: (home: string) => void;
  /** How old the authority is. Default: 1 day. */
  readonly ageDays?: number;
}

const added = /^\d+ provider hosts that were added are not metered yet: .* Meter them: meter init --yes$/;
const noCall = /^No call over TLS is metered, .* Trust a new one: meter init --yes$/;
const system = recordOf({}, step("ca-collect"));
const remove = (name: string) => (home: string) => rmSync(join(home, "ca", name));

const cases: readonly Case[] = [
  {
    name: "the system trusts the certificate",
    record: system,
    earlierClient: [METERED, PASSED],
    runClient: [METERED, PASSED],
    warning: added,
  },
  {
    name: "the programs of new shells trust the certificate",
    record: recordOf({ apps: true }),
    earlierClient: [METERED, PASSED],
    runClient: [METERED, PASSED],
    warning: added,
  },
  {
    name: "a browser trusts the certificate",
    record: recordOf({}, step("ca-nss:/home/u/.pki/nssdb")),
    earlierClient: [METERED, PASSED],
    runClient: [METERED, PASSED],
    warning: added,
  },
  {
    name: "only meter run hands out the certificate",
    record: recordOf({}, step("systemd-enable")),
    earlierClient: [METERED, "certificate rejected"],
    runClient: [METERED, METERED],
  },
  {
    name: "the key is lost",
    record: system,
    alter: remove("key.pem"),
    earlierClient: [PASSED, PASSED],
    runClient: [PASSED, PASSED],
    warning: noCall,
  },
  {
    name: "the certificate's file is lost, and no record has it",
    record: system,
    alter: remove("ca.pem"),
    earlierClient: [PASSED, PASSED],
    runClient: [PASSED, PASSED],
    warning: noCall,
  },
  {
    name: "the certificate expires in a month",
    record: system,
    ageDays: 1_065,
    earlierClient: [METERED, PASSED],
    runClient: [METERED, PASSED],
    warning: /^The certificate authority expires on \d{4}-\d\d-\d\d\. Renew it: meter init --yes$/,
  },
  {
    name: "the certificate has expired",
    record: system,
    ageDays: 1_100,
    earlierClient: [PASSED, PASSED],
    runClient: [PASSED, PASSED],
    warning: noCall,
  },
];

describe("calls to the hosts of an earlier version, and to a host that the update adds", {
  skip: onNodeOnly,
  timeout: SUITE_TIMEOUT_MS,
}, () => {
  const rig = useSimulation("added hosts");

  /** Calls a host as a program that trusts an authority of the meter and the providers' own. */
  async function call(
    { proxyPort }: { proxyPort: number },
    host: string,
    certificatePem: string,
  ): Promise<string> {
    const { path, body } = rawCalls[host === ADDED_HOST ? "anthropic" : "chat"]!("ok", false);
    const { socket } = await askForTunnel(proxyPort, `${host}:443`);
    const ca = [certificatePem, rig.simulation.caPem].filter((each) => each !== "");
    const tls = connect({ socket, servername: host, ca, ALPNProtocols: ["http/1.1"] });
    const { over } = receive(tls);
    let issuer = "";
    tls.on("secureConnect", () => {
      issuer = String(tls.getPeerCertificate().issuer.CN);
      const text = JSON.stringify(body);
      const head = `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer sk-x\r\nConnection: close`;
      tls.write(`${head}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
    });
    const { bytes } = await over;
    if (issuer === "") return "certificate rejected";
    const status = /^HTTP\/1\.1 (\d+)/.exec(bytes.toString("latin1"))?.[1];
    return `${status}, ${issuer.startsWith("meter local CA") ? "metered" : "passed"}`;
  }

  const callBoth = async (meter: { proxyPort: number }, certificatePem: string) => [
    await call(meter, EARLIER_HOST, certificatePem),
    await call(meter, ADDED_HOST, certificatePem),
  ];

  /** Returns the certificate that `meter run` gives its programs in the file of a variable. */
  async function certificateOfRun(meter: MeterProcess): Promise<string> {
    const { stdout } = await meter.run(["run", "--", "sh", "-c", 'cat "$NODE_EXTRA_CA_CERTS"']);
    return stdout.trim();
  }

  /** A home whose authority an earlier version made, which did not know the added host. */
  function earlierHome({ record, alter, ageDays = 1 }: Pick<Case, "record" | "alter" | "ageDays">) {
    const home = createHome(simulationConfig(rig.parent, rig.simulation));
    const made = { directory: join(home, "ca"), hosts: [EARLIER_HOST], now: Date.now() - ageDays * DAY_MS };
    const { certificatePem } = openCertificateAuthority(made);
    writeInstallRecord(home, record);
    alter?.(home);
    return { home, certificatePem };
  }

  for (const { name, earlierClient, runClient, warning, ...how } of cases) {
    it(`if ${name}`, async () => {
      const { home, certificatePem } = earlierHome(how);
      const meter = await startMeter(home);
      try {
        assert.deepEqual(await callBoth(meter, certificatePem), earlierClient);
        assert.deepEqual(await callBoth(meter, await certificateOfRun(meter)), runClient);
        const { warnings } = await meter.status();
        if (warning === undefined) assert.deepEqual(warnings, []);
        else assert.match(warnings.at(-1) ?? "", warning);
      } finally {
        await meter.stop();
        removeHome(home);
      }
    });
  }

  const issueForAll = (home: string) =>
    openCertificateAuthority({ directory: join(home, "ca"), hosts: createRegistry().hosts, now: Date.now() });

  it("if meter init was killed after it had issued a certificate, and before programs trusted it", async () => {
    const { home, certificatePem } = earlierHome({ record: null });
    writeInstallRecord(home, recordOf({ authority: certificatePem }));
    issueForAll(home);
    const meter = await startMeter(home);
    try {
      assert.deepEqual(await callBoth(meter, certificatePem), [METERED, PASSED]);
      assert.deepEqual(await callBoth(meter, await certificateOfRun(meter)), [METERED, PASSED]);
      assert.match((await meter.status()).warnings[0] ?? "", added);
    } finally {
      await meter.stop();
      removeHome(home);
    }
  });

  it("if the certificate's file is lost, and the record has it", async () => {
    const { home, certificatePem } = earlierHome({ record: null });
    writeInstallRecord(home, recordOf({ authority: certificatePem }));
    rmSync(join(home, "ca", "ca.pem"));
    const meter = await startMeter(home);
    try {
      assert.deepEqual(await callBoth(meter, certificatePem), [METERED, PASSED]);
      assert.equal(meter.caPem, certificatePem, "the file is restored");
    } finally {
      await meter.stop();
      removeHome(home);
    }
  });

  it("until meter init renews the certificate and restarts the daemon", async () => {
    const user = mkdtempSync(join(tmpdir(), "meter-user-"));
    const [proxyPort, apiPort] = [await freePort(), await freePort()];
    const home = createHome(
      simulationConfig(rig.parent, rig.simulation, [], { proxy: proxyPort, api: apiPort }),
    );
    // This `PATH` has no program of the system that `init` could use for changes.
    const env = { HOME: user, SHELL: "/bin/bash", PATH: dirname(process.execPath) };
    const meter = async (...words: string[]) => {
      const { code, stdout, stderr } = await runCommand(home, words, { env });
      assert.equal(code, 0, stdout + stderr);
      return stdout;
    };
    try {
      await meter("init", "--apps", "--yes");
      const first = await readInstallRecord(home);
      assert.equal(first?.authority, readFileSync(join(home, "ca", "ca.pem"), "utf8"));
      // As an earlier version left it.
      await meter("stop");
      const earlier = openCertificateAuthority({
        directory: join(home, "ca"),
        hosts: [EARLIER_HOST],
        now: Date.now(),
      }).certificatePem;
      const { authority: _, ...record } = first as InstallRecord;
      writeInstallRecord(home, record);
      await meter("start");
      assert.deepEqual(await callBoth({ proxyPort }, earlier), [METERED, PASSED]);
      const warned = (await meter("status")).replaceAll(/\s+/g, " ");
      assert.match(
        warned,
        /\d+ provider hosts that were added are not metered yet: .* Meter them: (npx --no-install )?meter init --yes/,
      );
      assert.match(await meter("coverage"), /api\.anthropic\.com/);

      assert.match(await meter("init", "--yes"), /\nThe certificate was renewed\. Restart programs/);
      const renewed = readFileSync(join(home, "ca", "ca.pem"), "utf8");
      assert.deepEqual(await callBoth({ proxyPort }, renewed), [METERED, METERED]);
      assert.equal((await readInstallRecord(home))?.authority, renewed);
      assert.doesNotMatch(await meter("status"), /not metered yet/);
      const running = readFileSync(join(home, "daemon.json"), "utf8");
      assert.doesNotMatch(await meter("init", "--yes"), /renewed/);
      assert.equal(readFileSync(join(home, "daemon.json"), "utf8"), running, "it need not restart again");
    } finally {
      await runCommand(home, ["uninstall", "--yes"], { env });
      removeHome(home);
      rmSync(user, { recursive: true, force: true });
    }
  });
});
