import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { openAddress, openerOf } from "../../../../cli/commands/open/open-address.ts";
import { stateFile } from "../../../../cli/daemon/daemon-process.ts";
import { createEmptyHome, runWords } from "../../run-command.rig.ts";

const address = "http://127.0.0.1:8765/";

describe("openerOf()", () => {
  it("returns each platform's program, and null without a display", () => {
    assert.deepEqual(openerOf(address, "darwin", {}), ["open", address]);
    assert.deepEqual(openerOf(address, "win32", {}), ["rundll32", "url.dll,FileProtocolHandler", address]);
    assert.deepEqual(openerOf(address, "linux", { DISPLAY: ":0" }), ["xdg-open", address]);
    assert.deepEqual(openerOf(address, "linux", { WAYLAND_DISPLAY: "wayland-0" }), ["xdg-open", address]);
    assert.equal(openerOf(address, "linux", { DISPLAY: "" }), null);
  });
});

describe("openAddress()", { skip: process.platform === "win32" && "uses a script of a Unix shell" }, () => {
  const withOpener = async (
    script: string,
    work: (env: Record<string, string>, folder: string) => Promise<void>,
  ) => {
    const folder = mkdtempSync(join(tmpdir(), "meter-open-"));
    const path = join(folder, "xdg-open");
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    try {
      await work({ PATH: `${folder}:/usr/bin:/bin`, DISPLAY: ":0", FOLDER: folder }, folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };

  it("passes the address as one argument", () =>
    withOpener('printf "%s|%s" "$#" "$1" > "$FOLDER/got"', async (env, folder) => {
      assert.equal(await openAddress(`${address}?a=b&c=$(d)`, env, "linux"), true);
      assert.equal(readFileSync(join(folder, "got"), "utf8"), `1|${address}?a=b&c=$(d)`);
    }));

  it("returns false if the program fails or is missing", async () => {
    await withOpener("exit 3", async (env) => assert.equal(await openAddress(address, env, "linux"), false));
    assert.equal(await openAddress(address, { PATH: "/nowhere", DISPLAY: ":0" }, "linux"), false);
    assert.equal(await openAddress(address, {}, "linux"), false);
  });
});

describe("meter open", () => {
  it("prints the page's address, and fails if no daemon runs", async () => {
    const startedAt = "2026-01-01T00:00:00.000Z";
    const server = createServer((_, answer) => answer.end(JSON.stringify({ started_at: startedAt })));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const { home, remove } = createEmptyHome();
    try {
      const without = await runWords(home, ["open"]);
      assert.deepEqual(
        [without.code, without.stderr],
        [3, "meter: The daemon is not running.\nStart it: meter start\n"],
      );
      const state = {
        pid: 1,
        version: "0",
        proxy_port: 1,
        api_port: port,
        started_at: startedAt,
      };
      writeFileSync(stateFile(home), JSON.stringify(state));
      for (const words of [["open", "--print"], ["open"]]) {
        const said = await runWords(home, words);
        assert.deepEqual([said.code, said.stdout, said.stderr], [0, `http://127.0.0.1:${port}/\n`, ""]);
      }
    } finally {
      server.close();
      remove();
    }
  });
});
