// The smallest program of two processes on Node: one has SQLite and an HTTP server, the other answers CONNECT, terminates TLS on
// both sides and forwards the bytes. It records nothing and contains no code of the meter. It is written in JavaScript, because
// the compiler that strips types takes about 15 MiB in each process.
// Arguments: the port, the file of the provider's authority, and the files of the certificate and key for clients.
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer } from "node:net";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { connect as connectTls, createSecureContext, getCACertificates, TLSSocket } from "node:tls";
import { fileURLToPath } from "node:url";

const words = process.argv.slice(2);

if (words[0] === "tap") {
  const [, port, caFile, certFile, keyFile] = words;
  const clientSide = createSecureContext({ cert: readFileSync(certFile), key: readFileSync(keyFile) });
  // A relay knows no provider in advance, so it needs the system's authorities.
  const ca = [...getCACertificates("system"), ...getCACertificates("bundled"), readFileSync(caFile, "utf8")];
  const providerSide = createSecureContext({ ca });
  const server = createServer({ noDelay: true }, (client) => tap(client, clientSide, providerSide));
  server.listen(Number(port), "127.0.0.1", () => process.send?.("listening"));
  process.on("disconnect", () => process.exit());
} else {
  new DatabaseSync(":memory:").exec("CREATE TABLE requests (id TEXT PRIMARY KEY) STRICT");
  createHttpServer((_, response) => response.end()).listen(0, "127.0.0.1");
  const child = fork(fileURLToPath(import.meta.url), ["tap", ...words]);
  await once(child, "message");
  process.send?.("listening");
}

function tap(client, clientSide, providerSide) {
  client.on("error", () => {});
  client.once("data", (head) => {
    const [host, port] = head.toString("latin1").split(" ")[1].split(":");
    const upstream = connect({ host, port: Number(port), noDelay: true }, () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      const inner = new TLSSocket(client, { isServer: true, secureContext: clientSide });
      const outer = connectTls({ socket: upstream, servername: host, secureContext: providerSide });
      inner.on("error", () => outer.destroy()).on("close", () => outer.destroy());
      outer.on("error", () => inner.destroy()).on("close", () => inner.destroy());
      outer.once("secureConnect", () => {
        inner.pipe(outer);
        outer.pipe(inner);
      });
    });
    upstream.on("error", () => client.destroy());
  });
}
