import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import {
  type CertificateAuthority,
  openCertificateAuthority,
} from "../../../adapters/certificates/certificate-authority.ts";
import { createRegistry } from "../../../core/metering/usage/registry.ts";
import { findProgram } from "../../../tools/packages.ts";
import {
  COMMON_NAME_ALONE,
  type ForgedLeaf,
  forgedLeaves,
  type LeafProxy,
  ownLeaves,
  startLeafProxy,
} from "./forged-leaves.rig.ts";

/** A program that requests `https://<host>/` of each host through the proxy and trusts the authority's file. */
export interface LeafClient {
  readonly name: string;
  /** Why it is skipped, if it is. */
  readonly skip?: string | false;
  readonly words: (range: LeafRange) => readonly string[];
  readonly env?: (range: LeafRange) => Record<string, string>;
  /** Forged leaves that it is known to accept, by name; `docs/threats.md` lists them too. */
  readonly accepts?: readonly string[];
}

/** An authority with the real list of hosts, its valid and forged leaves, and the proxy that presents them. */
export interface LeafRange {
  readonly folder: string;
  readonly authority: CertificateAuthority;
  readonly own: readonly ForgedLeaf[];
  readonly forged: readonly ForgedLeaf[];
  readonly hosts: readonly string[];
  readonly proxy: LeafProxy;
  /** Writes a program in the client's language and returns its path. */
  script(name: string, text: string): string;
  close(): void;
}

export async function startLeafRange(): Promise<LeafRange> {
  const folder = mkdtempSync(join(tmpdir(), "meter-leaves-"));
  const authority = openCertificateAuthority({
    directory: join(folder, "ca"),
    hosts: createRegistry().hosts,
    now: Date.now(),
  });
  const own = ownLeaves(authority, [
    "api.openai.com",
    "eu.api.openai.com",
    "x.openai.azure.com",
    "chatgpt.com",
  ]);
  const forged = forgedLeaves(authority, { permitted: "openrouter.ai", victim: "bank.example" });
  const proxy = await startLeafProxy([...own, ...forged]);
  return {
    folder,
    authority,
    own,
    forged,
    hosts: [...own, ...forged].map(({ host }) => host),
    proxy,
    script(name, text) {
      const path = join(folder, name);
      writeFileSync(path, text);
      return path;
    },
    close() {
      proxy.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Runs the client over all leaves and compares the leaves that it accepted with those that it may accept. */
export async function checkClient(range: LeafRange, client: LeafClient): Promise<void> {
  const { proxy, own, forged, folder } = range;
  proxy.reset();
  const [command = "", ...words] = client.words(range);
  const url = `http://127.0.0.1:${proxy.port}`;
  const child = spawn(command, words, {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...{ PATH: process.env.PATH, HOME: folder, HTTPS_PROXY: url, https_proxy: url },
      ...client.env?.(range),
    },
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += String(chunk)));
  await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const namesOf = (leaves: readonly ForgedLeaf[]) =>
    leaves.filter(({ host }) => proxy.accepted.has(host)).map(({ name }) => name);
  assert.deepEqual(
    namesOf(own),
    own.map(({ name }) => name),
    said.slice(0, 2_000),
  );
  assert.deepEqual(namesOf(forged), client.accepts ?? [], said.slice(0, 2_000));
  // A client that made no requests would accept no leaf either.
  assert.ok(proxy.asked.size >= own.length + forged.length - 1, `asked for ${proxy.asked.size} hosts alone`);
}

const fetchAll = (args: string) => `for (const host of ${args}) {
  try { await (await fetch("https://" + host + "/")).arrayBuffer(); } catch (error) { console.log(host, String(error)); }
}`;

/** `node:tls` over a tunnel, as in libraries with their own proxy support. */
const tlsAll = `import net from "node:net"; import tls from "node:tls"; import fs from "node:fs";
const [port, file, ...hosts] = process.argv.slice(2);
const ca = [fs.readFileSync(file)];
for (const each of hosts) await new Promise((resolve) => {
  const host = each.replace(/[[\\]]/g, "");
  const socket = net.connect(Number(port), "127.0.0.1", () => socket.write("CONNECT " + each + ":443 HTTP/1.1\\r\\n\\r\\n"));
  socket.on("error", resolve);
  socket.once("data", () => {
    const secure = tls.connect({ socket, host, ca, ...(net.isIP(host) ? {} : { servername: host }) }, () => secure.write("GET / HTTP/1.1\\r\\n\\r\\n"));
    secure.once("data", () => secure.destroy());
    secure.on("error", (error) => { console.log(each, String(error)); resolve(); });
    secure.on("close", resolve);
  });
});`;

const tlsWords = (range: LeafRange) => [
  range.script("tls.mjs", tlsAll),
  String(range.proxy.port),
  range.authority.certificatePath,
  ...range.hosts,
];

const bun = findProgram("bun");
const deno = findProgram("deno");
const onBun = { skip: bun === null && "NOT TESTED: Bun is not installed (npm run setup)" };
const onDeno = { skip: deno === null && "NOT TESTED: Deno is not installed (npm run setup)" };

/** The three runtimes of the project, each with both of its TLS clients. */
export const runtimeClients: readonly LeafClient[] = [
  {
    name: "fetch on Node",
    words: (range) => ["node", range.script("fetch.mjs", fetchAll("process.argv.slice(2)")), ...range.hosts],
    env: ({ authority }) => ({ NODE_USE_ENV_PROXY: "1", NODE_EXTRA_CA_CERTS: authority.certificatePath }),
  },
  { name: "node:tls on Node", words: (range) => ["node", ...tlsWords(range)] },
  {
    name: "fetch on Bun",
    ...onBun,
    words: (range) => [
      bun ?? "",
      range.script("fetch.mjs", fetchAll("process.argv.slice(2)")),
      ...range.hosts,
    ],
    env: ({ authority }) => ({ NODE_EXTRA_CA_CERTS: authority.certificatePath }),
    accepts: COMMON_NAME_ALONE,
  },
  {
    name: "node:tls on Bun",
    ...onBun,
    words: (range) => [bun ?? "", ...tlsWords(range)],
    accepts: COMMON_NAME_ALONE,
  },
  {
    name: "fetch on Deno",
    ...onDeno,
    words: (range) => [
      deno ?? "",
      "run",
      "-A",
      range.script("deno.mjs", fetchAll("Deno.args")),
      ...range.hosts,
    ],
    env: ({ authority }) => ({ DENO_CERT: authority.certificatePath }),
  },
  {
    name: "node:tls on Deno",
    ...onDeno,
    words: (range) => [deno ?? "", "run", "-A", ...tlsWords(range)],
    accepts: ["common name, no other names", ...COMMON_NAME_ALONE],
  },
];
