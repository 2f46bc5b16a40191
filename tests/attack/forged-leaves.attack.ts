import assert from "node:assert/strict";
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import {
  checkClient,
  type LeafClient,
  type LeafRange,
  runtimeClients,
  startLeafRange,
} from "../adapters/certificates/leaf-clients.rig.ts";
import { launchChromium, withoutChromium } from "../browser/chromium.rig.ts";

const missing = (program: string, ...words: string[]): string | false =>
  spawnSync(program, words).status === 0 ? false : `${program} is not installed here`;

const forEach = (range: LeafRange, command: string) => [
  "sh",
  "-c",
  `for host in ${range.hosts.map((host) => `'${host}'`).join(" ")}; do ${command} "https://$host/"; done`,
];

const goProgram = `package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	for _, host := range os.Args[1:] {
		answer, err := http.Get("https://" + host + "/")
		if err != nil {
			fmt.Println(host, err)
			continue
		}
		io.ReadAll(answer.Body)
		answer.Body.Close()
	}
}
`;

const pythonProgram = `import ssl, sys, urllib.request
context = ssl.create_default_context()
context.verify_flags |= ssl.VERIFY_X509_STRICT
for host in sys.argv[1:]:
    try:
        urllib.request.urlopen("https://" + host + "/", timeout=10, context=context).read()
    except Exception as error:
        print(host, error)
`;

/** Clients that the project does not install. */
const clients: readonly (LeafClient & { readonly skip: string | false })[] = [
  {
    name: "curl",
    skip: missing("curl", "--version"),
    words: (range) => forEach(range, `curl -sS --max-time 10 --cacert '${range.authority.certificatePath}'`),
  },
  {
    name: "Python, strictly",
    skip: missing("python3", "-c", "import ssl"),
    words: (range) => ["python3", range.script("fetch.py", pythonProgram), ...range.hosts],
    env: ({ authority }) => ({ SSL_CERT_FILE: authority.certificatePath }),
  },
  {
    name: "Go",
    skip: missing("go", "version"),
    words: (range) => ["go", "run", range.script("fetch.go", goProgram), ...range.hosts],
    env: ({ authority, folder }) => ({
      ...{ SSL_CERT_FILE: authority.certificatePath, GO111MODULE: "off", GOFLAGS: "-buildvcs=false" },
      GOCACHE: join(folder, "go"),
    }),
  },
  {
    name: "GnuTLS (wget)",
    skip: missing("sh", "-c", "wget --version | grep -q ssl/gnutls"),
    words: (range) =>
      forEach(range, `wget -q -T 10 -t 1 -O - --ca-certificate='${range.authority.certificatePath}'`),
  },
];

const noChromium =
  (await withoutChromium()) ||
  (spawnSync("certutil", ["-H"]).error === undefined ? false : "NSS's certutil is not installed here");

describe("leaves forged with the authority's key", () => {
  let range: LeafRange;
  before(async () => {
    range = await startLeafRange();
  });
  after(() => range.close());

  for (const client of runtimeClients) {
    it(`are rejected by ${client.name} as in the tests`, { skip: client.skip }, () =>
      checkClient(range, client),
    );
  }
  for (const client of clients) {
    it(`are rejected by ${client.name}, which accepts the meter's own`, { skip: client.skip }, () =>
      checkClient(range, client),
    );
  }

  it("are rejected by Chromium, which accepts the meter's own", {
    skip: noChromium,
  }, async () => {
    const { folder, proxy, own, forged, authority } = range;
    const database = join(folder, ".pki", "nssdb");
    mkdirSync(database, { recursive: true });
    const certutil = (...words: string[]) => execFileSync("certutil", ["-d", `sql:${database}`, ...words]);
    certutil("-N", "--empty-password");
    certutil("-A", "-t", "C,,", "-n", "meter", "-i", authority.certificatePath);
    proxy.reset();
    // Chromium reads its user's authorities below HOME.
    const { HOME } = process.env;
    process.env.HOME = folder;
    const browser = await launchChromium([`--proxy-server=http://127.0.0.1:${proxy.port}`]);
    try {
      const page = await browser.newPage();
      for (const { host } of [...own, ...forged]) {
        await page.goto(`https://${host}/`, { waitUntil: "commit" }).catch(() => {});
      }
    } finally {
      await browser.close();
      if (HOME === undefined) delete process.env.HOME;
      else process.env.HOME = HOME;
    }
    const accepted = [...own, ...forged].filter(({ host }) => proxy.accepted.has(host));
    assert.deepEqual(
      accepted.map(({ name }) => name),
      own.map(({ name }) => name),
    );
    assert.equal(proxy.asked.size, own.length + forged.length);
  });

  it("are accepted by Java, which ignores the constraints of a trusted authority", {
    skip: missing("keytool", "-help") || missing("java", "-version"),
  }, async () => {
    const { folder, proxy, own, authority, hosts } = range;
    const store = join(folder, "trust.p12");
    execFileSync(
      "keytool",
      [
        ...["-importcert", "-noprompt", "-alias", "meter", "-file", authority.certificatePath],
        ...["-keystore", store, "-storepass", "changeit"],
      ],
      { stdio: "ignore" },
    );
    const program = range.script(
      "Fetch.java",
      `import java.net.URL;
public class Fetch {
  public static void main(String[] hosts) {
    for (String host : hosts) {
      try { new URL("https://" + host + "/").openStream().readAllBytes(); } catch (Exception error) { System.out.println(host + " " + error); }
    }
  }
}
`,
    );
    proxy.reset();
    // Not awaited in this thread, which serves the proxy.
    await promisify(execFile)("java", [
      ...["-Dhttps.proxyHost=127.0.0.1", `-Dhttps.proxyPort=${proxy.port}`],
      ...[`-Djavax.net.ssl.trustStore=${store}`, "-Djavax.net.ssl.trustStorePassword=changeit"],
      program,
      ...hosts,
    ]);
    assert.ok(own.every(({ host }) => proxy.accepted.has(host)));
    assert.ok(
      proxy.accepted.has("f1.bank.example"),
      "Java has come to apply them: say so in docs/threats.md",
    );
  });
});
