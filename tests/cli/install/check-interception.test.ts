import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { TLSSocket } from "node:tls";
import {
  type CertificateAuthority,
  openCertificateAuthority,
} from "../../../adapters/certificates/certificate-authority.ts";
import { createLeafIssuer } from "../../../adapters/certificates/leaf-issuer.ts";
import { checkInterception } from "../../../cli/install/self-test.ts";

const HOST = "api.example.com";
const folder = mkdtempSync(join(tmpdir(), "meter-interception-"));
const authorityIn = (name: string) =>
  openCertificateAuthority({ directory: join(folder, name), hosts: [HOST], now: Date.now() });

/** A stand-in for the proxy that presents a certificate of the authority and handles the request as given. */
async function startStandIn(
  authority: CertificateAuthority,
  asked: (secure: TLSSocket, socket: Socket) => void,
) {
  const leaf = createLeafIssuer(authority).issue(HOST, Date.now());
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      const secure = new TLSSocket(socket, { isServer: true, key: leaf.keyPem, cert: leaf.certificatePem });
      secure.on("error", () => {});
      secure.once("data", () => asked(secure, socket));
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port: proxyPort } = server.address() as AddressInfo;
  return { target: { proxyPort, proxyPassword: null }, close: () => server.close() };
}

describe("checkInterception()", { timeout: 60_000 }, () => {
  let own: CertificateAuthority;
  before(() => {
    own = authorityIn("own");
  });
  after(() => rmSync(folder, { recursive: true }));

  const answer = (secure: TLSSocket) =>
    void secure.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
  for (const [what, asked] of [
    ["that answers", answer],
    // Planted: a reset after the handshake counted as distrust, and `meter init` undid its installation.
    [
      "that resets the connection instead of answering",
      (_: TLSSocket, socket: Socket) => socket.resetAndDestroy(),
    ],
    ["that hangs up instead of answering", (_: TLSSocket, socket: Socket) => socket.destroy()],
  ] as const) {
    it(`detects our certificate in front of a server ${what}`, async (test) => {
      const { target, close } = await startStandIn(own, asked);
      test.after(close);
      assert.equal(await checkInterception(target, HOST, own.certificatePem), "intercepted");
    });
  }

  it("detects a certificate that is not ours", async (test) => {
    const { target, close } = await startStandIn(authorityIn("other"), answer);
    test.after(close);
    assert.equal(await checkInterception(target, HOST, own.certificatePem), "not_intercepted");
  });

  it("returns offline if nothing can be reached", async () => {
    const { target, close } = await startStandIn(own, answer);
    close();
    assert.equal(await checkInterception(target, HOST, own.certificatePem), "offline");
  });
});
