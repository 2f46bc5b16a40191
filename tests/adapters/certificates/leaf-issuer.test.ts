import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { isIP } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connect, createServer, type Server } from "node:tls";
import {
  type CertificateAuthority,
  openCertificateAuthority,
} from "../../../adapters/certificates/certificate-authority.ts";
import { createLeafIssuer, leafDays } from "../../../adapters/certificates/leaf-issuer.ts";
import { forge, names, subjectOf } from "./forged-leaves.rig.ts";

const dayMs = 86_400_000;
const now = Date.now();
const hosts = ["localhost", "*.openai.azure.com", "10.1.2.3", "fd00::7"];
const servers: Server[] = [];
let folder: string;
let authority: CertificateAuthority;
before(() => {
  folder = mkdtempSync(join(tmpdir(), "meter-leaf-"));
  authority = openCertificateAuthority({ directory: join(folder, "ca"), hosts, now });
});
after(() => {
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true });
});

const missing = (program: string, ...args: string[]) =>
  spawnSync(program, args).status === 0 ? false : `${program} is not here`;

describe("createLeafIssuer()", () => {
  it("issues P-256 server certificates for one host, backdated and short", () => {
    const leaf = createLeafIssuer(authority).issue("localhost", now);
    const certificate = new X509Certificate(leaf.certificatePem);
    assert.equal(certificate.checkHost("localhost"), "localhost");
    assert.equal(certificate.checkHost("other.test"), undefined);
    assert.equal(certificate.ca, false);
    assert.ok(certificate.verify(new X509Certificate(authority.certificatePem).publicKey));
    assert.ok(certificate.checkIssued(new X509Certificate(authority.certificatePem)));
    assert.ok(certificate.checkPrivateKey(createPrivateKey(leaf.keyPem)));
    assert.equal(certificate.publicKey.asymmetricKeyDetails?.namedCurve, "prime256v1");
    assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.1"]);
    assert.ok(Date.parse(certificate.validFrom) <= now - dayMs);
    assert.ok(Date.parse(certificate.validTo) - now <= leafDays * dayMs);
    assert.ok(leafDays <= 90);
    assert.equal(Math.abs(Date.parse(certificate.validTo) - leaf.notAfter) < 1_000, true);
  });

  it("issues for addresses, with unique serial numbers, and never beyond the authority's expiry", () => {
    const issuer = createLeafIssuer(authority);
    assert.equal(
      new X509Certificate(issuer.issue("10.1.2.3", now).certificatePem).checkIP("10.1.2.3"),
      "10.1.2.3",
    );
    assert.equal(
      new X509Certificate(issuer.issue("fd00::7", now).certificatePem).checkIP("fd00::7"),
      "fd00::7",
    );
    const serials = Array.from(
      { length: 50 },
      () => new X509Certificate(issuer.issue("localhost", now).certificatePem).serialNumber,
    );
    assert.equal(new Set(serials).size, 50);
    const end = Date.parse(new X509Certificate(authority.certificatePem).validTo);
    assert.equal(issuer.issue("localhost", end - dayMs).notAfter, end);
  });

  it("rejects an invalid host", () => {
    const issuer = createLeafIssuer(authority);
    for (const host of ["", "a b", "a\0b", "*.a.test", "-.", "a..b", "a/b", "x".repeat(254), "fe80::1%lo"]) {
      assert.throws(() => issuer.issue(host, now), /^RangeError: not a host: /, host);
    }
    assert.doesNotThrow(() => issuer.issue(`${"a".repeat(63)}.${"b".repeat(63)}.openai.azure.com`, now));
  });

  it("issues none for a host that the authority's name constraints do not permit", () => {
    const { certificatePem, keyPem } = openCertificateAuthority({
      directory: join(folder, "narrow"),
      hosts: ["api.test", "*.models.test", "chat.models.test", "*.api.test.example", "10.1.2.3"],
      now,
    });
    const issuer = createLeafIssuer({ certificatePem, keyPem });
    const permitted = ["api.test", "eu.models.test", "a.b.models.test", "chat.models.test", "10.1.2.3"];
    for (const host of permitted) assert.doesNotThrow(() => issuer.issue(host, now), host);
    const refused = [
      ...["eu.api.test", "test", "xapi.test", "api.test.evil", "other.test", "eu.chat.models.test"],
      ...["10.1.2.4", "fd00::7", "invalid", "api.tes"],
    ];
    for (const host of refused)
      assert.throws(() => issuer.issue(host, now), /^RangeError: the authority may not sign for /, host);
  });

  it("issues none once the authority has expired", () => {
    const end = Date.parse(new X509Certificate(authority.certificatePem).validTo);
    assert.throws(() => createLeafIssuer(authority).issue("localhost", end + 1), /the authority has expired/);
  });

  /** A leaf for a host that is not permitted can only be made with a stolen key. */
  const leafFor = (host: string, permitted: boolean) =>
    permitted
      ? createLeafIssuer(authority).issue(host, now)
      : forge(authority, subjectOf(authority), {
          subject: null,
          names: [isIP(host) === 0 ? names.dns(host) : names.address(host)],
        });

  // [host, whether the authority's name constraints permit it]
  const rows: readonly (readonly [string, boolean])[] = [
    ["localhost", true],
    ["deep.openai.azure.com", true],
    ["10.1.2.3", true],
    ["bank.example", false],
    ["10.1.2.4", false],
    ["openai.azure.com.evil.test", false],
  ];
  for (const [host, permitted] of rows) {
    it(`is ${permitted ? "accepted" : "rejected"} by Node for ${host}`, async () => {
      const port = await serve(leafFor(host, permitted));
      const client = connect({
        port,
        host: "127.0.0.1",
        ca: [authority.certificatePem],
        checkServerIdentity: (_, peer) =>
          peer.subjectaltname?.includes(host) ? undefined : new Error("other host"),
      });
      const outcome = await Promise.race([once(client, "secureConnect"), once(client, "error")]).catch(
        (error) => [error],
      );
      assert.equal(client.authorized, permitted, String(outcome[0]));
      client.destroy();
    });

    it(`is ${permitted ? "accepted" : "rejected"} by OpenSSL's strict checks for ${host}`, {
      skip: missing("openssl", "version"),
    }, () => {
      const path = join(folder, "leaf.pem");
      writeFileSync(path, leafFor(host, permitted).certificatePem);
      const { status } = spawnSync("openssl", [
        "verify",
        "-x509_strict",
        "-CAfile",
        authority.certificatePath,
        path,
      ]);
      assert.equal(status === 0, permitted);
    });
  }

  it("is accepted by curl", { skip: missing("curl", "--version") }, async () => {
    const port = await serve(createLeafIssuer(authority).issue("localhost", now));
    const status = await run("curl", [
      "-sS",
      "--noproxy",
      "*",
      "--cacert",
      authority.certificatePath,
      `https://localhost:${port}/`,
    ]);
    assert.equal(status, 0);
  });

  it("is accepted by Python", { skip: missing("python3", "-c", "import ssl") }, async () => {
    const port = await serve(createLeafIssuer(authority).issue("localhost", now));
    const script = `import ssl, socket
context = ssl.create_default_context(cafile=${JSON.stringify(authority.certificatePath)})
context.verify_flags |= ssl.VERIFY_X509_STRICT
context.wrap_socket(socket.create_connection(("127.0.0.1", ${port})), server_hostname="localhost").close()`;
    assert.equal(await run("python3", ["-c", script]), 0);
  });
});

async function serve(leaf: { certificatePem: string; keyPem: string }): Promise<number> {
  const server = createServer({ cert: leaf.certificatePem, key: leaf.keyPem }, (socket) => {
    socket.on("error", () => {});
    socket.on("data", () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
  });
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  servers.push(server);
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function run(program: string, args: readonly string[]): Promise<number | null> {
  const { spawn } = await import("node:child_process");
  const child = spawn(program, args, { stdio: "ignore", env: { PATH: process.env.PATH } });
  const [status] = (await once(child, "exit")) as [number | null];
  return status;
}
