// The smallest proxy on Node: it answers CONNECT, terminates TLS on both sides and forwards the bytes. It reads and records
// nothing, so it is the floor that the meter is compared with.
import { readFileSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import process from "node:process";
import { connect as connectTls, createSecureContext, TLSSocket } from "node:tls";
import { openCertificateAuthority } from "../../../adapters/certificates/certificate-authority.ts";
import { createLeafIssuer } from "../../../adapters/certificates/leaf-issuer.ts";

const [port, folder, providerCa] = process.argv.slice(2) as [string, string, string];
const now = Date.now();
const authority = openCertificateAuthority({ directory: `${folder}/ca`, hosts: ["localhost"], now });
const leaf = createLeafIssuer(authority).issue("localhost", now);
const clientSide = createSecureContext({ cert: leaf.certificatePem, key: leaf.keyPem });
const providerSide = createSecureContext({ ca: readFileSync(providerCa, "utf8") });
writeFileSync(`${folder}/ca.pem`, authority.certificatePem);

const server = createServer({ noDelay: true }, (client) => {
  client.on("error", () => {});
  client.once("data", (head: Buffer) => {
    const [host, hostPort] = (head.toString("latin1").split(" ")[1] as string).split(":") as [string, string];
    const upstream = connect({ host, port: Number(hostPort), noDelay: true }, () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      const inner = new TLSSocket(client, { isServer: true, secureContext: clientSide });
      const outer = connectTls({ socket: upstream, servername: host, secureContext: providerSide });
      inner.on("error", () => outer.destroy());
      outer.on("error", () => inner.destroy());
      outer.once("secureConnect", () => {
        inner.pipe(outer);
        outer.pipe(inner);
      });
    });
    upstream.on("error", () => client.destroy());
  });
});
server.listen(Number(port), "127.0.0.1", () => process.send?.({ caFile: `${folder}/ca.pem` }));
