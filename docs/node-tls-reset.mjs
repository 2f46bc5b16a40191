// Crashes Node with SIGSEGV: docs/node-tls-reset.md. Run: node docs/node-tls-reset.mjs [sequence]. Needs `openssl`.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { connect as connectTls, createServer } from "node:tls";

/** What is done to a TLS stream over a TCP socket, each time on a new connection. */
const sequences = {
  // Crash:
  "reset, destroy": (tcp, tls) => {
    tcp.resetAndDestroy();
    tls.destroy();
  },
  "reset, destroy in the next tick": (tcp, tls) => {
    tcp.resetAndDestroy();
    process.nextTick(() => tls.destroy());
  },
  "reset, write": (tcp, tls) => {
    tcp.resetAndDestroy();
    tls.write("x");
    tls.write("x");
  },
  "destroy TCP, destroy TLS": (tcp, tls) => {
    tcp.destroy();
    tls.destroy();
  },
  // Do not crash:
  "reset only": (tcp) => {
    tcp.resetAndDestroy(); // TLS is destroyed by Node on the socket's `close`
  },
  "destroy TLS, destroy TCP": (tcp, tls) => {
    tls.destroy();
    tcp.destroy();
  },
  "reset, destroy on close": (tcp, tls) => {
    tcp.once("close", () => tls.destroy());
    tcp.resetAndDestroy();
  },
};

const rounds = 2_000;

async function run(name) {
  const folder = mkdtempSync(join(tmpdir(), "node-tls-reset-"));
  const [key, cert] = ["key.pem", "cert.pem"].map((file) => join(folder, file));
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "1"];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  execFileSync("openssl", ["req", "-x509", ...kind, "-keyout", key, "-out", cert, ...subject], {
    stdio: "ignore",
  });
  const ca = readFileSync(cert);
  const server = createServer({ key: readFileSync(key), cert: ca }, (socket) => {
    socket.on("error", () => {});
    socket.resume();
  });
  rmSync(folder, { recursive: true });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  for (let round = 0; round < rounds; round += 1) {
    const tcp = connectTcp(server.address().port, "127.0.0.1");
    tcp.on("error", () => {});
    await once(tcp, "connect");
    const tls = connectTls({ socket: tcp, ca, servername: "localhost" });
    tls.on("error", () => {});
    tls.resume();
    await once(tls, "secureConnect");
    const closed = once(tls, "close");
    sequences[name](tcp, tls);
    await closed;
  }
  server.close();
}

const [, script, chosen] = process.argv;
if (chosen !== undefined) await run(chosen);
else {
  for (const name of Object.keys(sequences)) {
    let outcome = `survived ${rounds} connections`;
    try {
      execFileSync(process.execPath, [script, name], { stdio: "ignore" });
    } catch (error) {
      outcome = error.signal ?? `exit code ${error.status}`;
    }
    console.log(`${process.version}  ${name.padEnd(32)}  ${outcome}`);
  }
}
