import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeStartFailure, StartRefusal } from "../../../../cli/commands/start/start-failure.ts";
import { CommandFailure } from "../../../../cli/program/exit-codes.ts";
import { resolveConfig } from "../../../../core/operations/config/resolve-config.ts";
import { CertificateStoreError } from "../../../../core/ports/certificates.ts";
import { NonLoopbackHostError } from "../../../../daemon/proxy/listen-host.ts";
import { ProxyListenError } from "../../../../daemon/proxy/start-proxy.ts";

const { config } = resolveConfig(
  { proxy: { port: 9 }, api: { port: 9 } },
  { today: "2026-11-29", baseUrl: {} },
);

const listenError = (code: string) =>
  Object.assign(new Error(`listen ${code}: permission denied 127.0.0.1:9`), { code, syscall: "listen" });

describe("describeStartFailure()", () => {
  const cases: readonly (readonly [name: string, cause: Error, message: string])[] = [
    [
      "the API's port is the proxy's",
      listenError("EADDRINUSE"),
      "Port 9 is already in use by the proxy. Set another one in /home/config.toml:\n\n[api]\nport = 10",
    ],
    [
      "this user may not listen on the proxy's port",
      new ProxyListenError("EACCES", "listen EACCES: permission denied 127.0.0.1:9"),
      "listen EACCES: permission denied 127.0.0.1:9. Set another host or port in [proxy] of /home/config.toml.",
    ],
    [
      "this user may not listen on the API's port",
      listenError("EACCES"),
      "listen EACCES: permission denied 127.0.0.1:9. Set another host or port in [api] of /home/config.toml.",
    ],
    [
      "the host has no address, which the override does not change",
      new NonLoopbackHostError('listen host does not resolve: "x.invalid"', null),
      'listen host does not resolve: "x.invalid". Set another one in /home/config.toml.',
    ],
  ];
  for (const [name, cause, message] of cases) {
    it(`names the setting to change: ${name}`, async () => {
      const failure = await describeStartFailure(cause, config, "/home");
      assert.ok(failure instanceof StartRefusal);
      assert.equal(failure.message, message);
    });
  }

  it("says how to replace a damaged authority", async () => {
    const cause = new CertificateStoreError("certificate authority in /my home/ca: unsupported");
    const failure = await describeStartFailure(cause, config, "/my home");
    assert.ok(failure instanceof CommandFailure && !(failure instanceof StartRefusal));
    assert.equal(
      failure.message,
      "certificate authority in /my home/ca: unsupported.\n" +
        "Replace the authority, then trust the new one: mv '/my home/ca' '/my home/ca'.damaged && meter init",
    );
  });
});
