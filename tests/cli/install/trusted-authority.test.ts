import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, describe, it } from "node:test";
import { openCertificateAuthority } from "../../../adapters/certificates/certificate-authority.ts";
import { inspectCertificateAuthority } from "../../../adapters/certificates/inspect-authority.ts";
import { installRecordFile, writeInstallRecord } from "../../../adapters/installer/install-record.ts";
import {
  findTrustedCertificate,
  findUnmeteredHosts,
  fingerprintOf,
  listUnpermitted,
} from "../../../cli/install/trusted-authority.ts";
import type { InstallRecord } from "../../../core/operations/install/step.ts";

const earlierHosts = ["api.openai.com", "*.openai.azure.com"];
const hosts = [...earlierHosts, "api.x.ai", "*.models.test"];
const record: InstallRecord = {
  format: 1,
  meter_version: "0.4.0",
  name: "meter",
  apps: false,
  trusted_files: [],
  daemon_environment: {},
  entries: [],
};

describe("the certificate that programs trust", () => {
  const homes: string[] = [];
  let home: string;
  let certificatePem: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "meter-trusted-"));
    homes.push(home);
    const directory = join(home, "ca");
    ({ certificatePem } = openCertificateAuthority({ directory, hosts: earlierHosts, now: Date.now() }));
  });
  after(() => {
    for (const each of homes) rmSync(each, { recursive: true });
  });

  /** Checks with the hosts of a new version; `listed` are the system's certificates with the authority's name. */
  const find = (listed: readonly string[] | null = [], wanted = hosts) =>
    findTrustedCertificate(
      home,
      {},
      inspectCertificateAuthority({ directory: join(home, "ca"), hosts: wanted, now: Date.now() }),
      async () => listed,
    );

  it("is what meter init recorded, even if the file is current", async () => {
    writeInstallRecord(home, { ...record, authority: "recorded" });
    assert.deepEqual(await find(), { certificatePem: "recorded" });
    assert.deepEqual(await find([], earlierHosts), { certificatePem: "recorded" });
  });

  it("is the file's if an earlier version recorded only its steps", async () => {
    writeInstallRecord(home, { ...record, apps: true });
    assert.deepEqual(await find(), { certificatePem });
    assert.equal(await find([], earlierHosts), null, "nothing replaces it anyway");
  });

  it("is the file's if the record can't be read", async () => {
    writeFileSync(installRecordFile(home), "damaged");
    assert.deepEqual(await find(), { certificatePem });
  });

  it("is what root put into the system's list", async () => {
    assert.deepEqual(await find(["by hand"]), { certificatePem: "by hand" });
    writeInstallRecord(home, record);
    assert.deepEqual(await find(["by hand"]), { certificatePem: "by hand" });
  });

  it("is none if only meter run passes it to programs", async () => {
    assert.equal(await find(), null);
    assert.equal(await find(null), null);
    writeInstallRecord(home, record);
    assert.equal(await find(), null);
  });

  it("is lost with its file", async () => {
    writeInstallRecord(home, { ...record, apps: true });
    rmSync(join(home, "ca", "ca.pem"));
    assert.deepEqual(await find(), { certificatePem: null });
  });

  it("tells which hosts are not metered yet", async () => {
    assert.deepEqual(listUnpermitted(certificatePem, hosts), ["api.x.ai", "*.models.test"]);
    assert.deepEqual(await findUnmeteredHosts(home, {}, hosts), [], "the daemon issues another certificate");
    writeInstallRecord(home, { ...record, authority: certificatePem });
    assert.deepEqual(await findUnmeteredHosts(home, {}, hosts), ["api.x.ai", "*.models.test"]);
  });

  it("has a fingerprint", () => {
    assert.match(fingerprintOf(certificatePem), /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
  });
});
