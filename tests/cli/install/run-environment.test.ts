import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { knownToIgnoreProxy, runEnvironment } from "../../../cli/install/run-environment.ts";

const settings = { proxyPort: 8081, caFile: "/m/ca.pem", bundleFile: "/m/bundle.pem", project: null };

describe("runEnvironment()", () => {
  it("sets the proxy and trust variables and leaves the others alone", () => {
    const proxy = "http://127.0.0.1:8081";
    assert.deepEqual(runEnvironment({ HOME: "/h" }, settings), {
      HOME: "/h",
      HTTPS_PROXY: proxy,
      https_proxy: proxy,
      HTTP_PROXY: proxy,
      http_proxy: proxy,
      NO_PROXY: "localhost,127.0.0.1,::1",
      no_proxy: "localhost,127.0.0.1,::1",
      NODE_USE_ENV_PROXY: "1",
      NODE_EXTRA_CA_CERTS: "/m/ca.pem",
      DENO_CERT: "/m/ca.pem",
      CODEX_CA_CERTIFICATE: "/m/bundle.pem",
      SSL_CERT_FILE: "/m/bundle.pem",
      REQUESTS_CA_BUNDLE: "/m/bundle.pem",
      CURL_CA_BUNDLE: "/m/bundle.pem",
      AWS_CA_BUNDLE: "/m/bundle.pem",
    });
  });

  it("puts the login into the proxy's address", () => {
    const login = { user: "shop.~p0123456789ab", password: "secret" };
    const { HTTPS_PROXY } = runEnvironment({}, { ...settings, login });
    assert.equal(HTTPS_PROXY, "http://shop.~p0123456789ab:secret@127.0.0.1:8081");
  });

  it("keeps the caller's NO_PROXY entries, each once", () => {
    const { NO_PROXY } = runEnvironment({ no_proxy: "intranet, localhost" }, settings);
    assert.equal(NO_PROXY, "intranet,localhost,127.0.0.1,::1");
  });

  it("gives Node the bundle if the caller has an authority of their own", () => {
    const { NODE_EXTRA_CA_CERTS } = runEnvironment({ NODE_EXTRA_CA_CERTS: "/corp.pem" }, settings);
    assert.equal(NODE_EXTRA_CA_CERTS, "/m/bundle.pem");
  });

  it("sets the project if one is given", () => {
    assert.equal(runEnvironment({}, { ...settings, project: "web" }).METER_PROJECT, "web");
  });
});

describe("knownToIgnoreProxy()", () => {
  const table: [program: string, nodeVersion: string | null, ignores: boolean][] = [
    ["node", "v20.20.2", true],
    ["/usr/bin/node", "v22.19.0", true],
    ["node", "v22.21.0", false],
    ["node", "v23.11.0", true],
    ["C:\\node\\node.exe", "v24.4.1", true],
    ["node", "v24.5.0", false],
    ["npx", "v26.0.0", false],
    ["node", null, false],
    ["java", null, true],
    ["ollama", null, false],
    ["python3", null, false],
    ["curl", null, false],
  ];
  for (const [program, nodeVersion, ignores] of table) {
    it(`${ignores ? "warns of" : "does not warn of"} ${program} ${nodeVersion ?? ""}`, () => {
      assert.equal(knownToIgnoreProxy(program, nodeVersion) !== null, ignores);
    });
  }
});
