import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connect, createSecureContext, TLSSocket } from "node:tls";
import {
  type CertificateAuthority,
  openCertificateAuthority,
} from "../../../adapters/certificates/certificate-authority.ts";
import { createLeafIssuer } from "../../../adapters/certificates/leaf-issuer.ts";
import { createRegistry } from "../../../core/metering/usage/registry.ts";
import type { CertificatePair } from "../../../core/ports/certificates.ts";
import { createHostMatcher } from "../../../daemon/proxy/host-patterns.ts";
import { forge, names, subjectOf } from "./forged-leaves.rig.ts";

describe("the local CA and the hosts of the clouds", () => {
  const registry = createRegistry();
  const intercepts = createHostMatcher(registry.hostPatterns);
  const directory = mkdtempSync(join(tmpdir(), "meter-hosts-"));
  let authority: CertificateAuthority;

  before(() => {
    authority = openCertificateAuthority({ directory, hosts: registry.hosts, now: Date.now() });
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  /** How a client that trusts the authority judges its leaf for the host. */
  async function handshake(host: string, leaf: CertificatePair): Promise<string> {
    const secureContext = createSecureContext({ cert: leaf.certificatePem, key: leaf.keyPem });
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      sockets.push(socket);
      new TLSSocket(socket, { isServer: true, secureContext }).on("error", () => {});
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    try {
      return await new Promise<string>((resolve) => {
        const client = connect(
          { host: "127.0.0.1", port: address.port, servername: host, ca: [authority.certificatePem] },
          () => {
            resolve("trusted");
            client.destroy();
          },
        );
        client.on("error", (error) => resolve(error.message));
      });
    } finally {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    }
  }

  for (const host of [
    "us-central1-aiplatform.googleapis.com",
    "aiplatform.us.rep.googleapis.com",
    "cloudcode-pa.googleapis.com",
    "bedrock-runtime.eu-west-1.amazonaws.com",
    "acme.openai.azure.com",
    "chatgpt.com",
  ])
    it(`intercepts ${host}, and clients trust its certificate`, async () => {
      assert.equal(intercepts(host, 443), true);
      assert.equal(await handshake(host, createLeafIssuer(authority).issue(host, Date.now())), "trusted");
    });

  for (const host of [
    "storage.googleapis.com",
    "oauth2.googleapis.com",
    "evil-aiplatform.googleapis.com",
    "s3.eu-west-1.amazonaws.com",
    "acme.blob.core.windows.net",
  ])
    it(`does not intercept ${host}, and cannot sign for it`, async () => {
      assert.equal(intercepts(host, 443), false);
      assert.throws(() => createLeafIssuer(authority).issue(host, Date.now()), RangeError);
      const forged = forge(authority, subjectOf(authority), { subject: null, names: [names.dns(host)] });
      assert.equal(await handshake(host, forged), "permitted subtree violation");
    });
});
