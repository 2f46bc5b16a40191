import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import * as tls from "node:tls";
import { openCertificateAuthority } from "../../../adapters/certificates/certificate-authority.ts";
import { findInSystemList } from "../../../cli/install/system-trust.ts";
import { onNodeOnly } from "../../end-to-end/meter-process.rig.ts";

describe("findInSystemList()", { skip: onNodeOnly }, () => {
  const folder = mkdtempSync(join(tmpdir(), "meter-system-"));
  after(() => rmSync(folder, { recursive: true }));
  const env = { PATH: process.env.PATH };

  it("returns the system's certificate with the same subject", async (t) => {
    const [known] = tls.getCACertificates("system");
    if (known === undefined) return t.skip("this system has no list");
    const file = join(folder, "known.pem");
    writeFileSync(file, known);
    assert.deepEqual(await findInSystemList(env, file), [known]);
  });

  it("leaves out what the shell's variables name, so that an authority that only they trust is not found", async () => {
    const { certificatePath } = openCertificateAuthority({
      directory: join(folder, "ca"),
      hosts: ["api.test"],
      now: Date.now(),
    });
    const named = { SSL_CERT_FILE: certificatePath, NODE_EXTRA_CA_CERTS: certificatePath };
    assert.deepEqual(await findInSystemList({ ...env, ...named }, certificatePath), []);
  });

  it("returns null if the file is missing", async () => {
    assert.equal(await findInSystemList(env, join(folder, "missing.pem")), null);
  });
});
