import assert from "node:assert/strict";
import {
  chmodSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { parse } from "smol-toml";
import { editConfig } from "../../../cli/home/edit-config.ts";
import { readConfig } from "../../../cli/home/read-config.ts";
import { CommandFailure } from "../../../cli/program/exit-codes.ts";

describe("editConfig()", () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "meter-config-"));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));
  const file = () => join(home, "config.toml");
  const enable = [{ path: ["cloud", "enabled"], value: true }];

  it("creates a file that only its owner can read", { skip: process.platform === "win32" }, async () => {
    await editConfig(home, enable);
    assert.equal(readFileSync(file(), "utf8"), "[cloud]\nenabled = true\n");
    assert.equal(statSync(file()).mode & 0o777, 0o600);
  });

  it("keeps mode, comments and byte order mark, and leaves no temporary file", async () => {
    writeFileSync(file(), "\ufeff# mine\r\n[cloud] # here\r\nenabled = false # off\r\n");
    chmodSync(file(), 0o640);
    await editConfig(home, [...enable, { path: ["cloud", "base_url"], value: "https://x" }]);
    assert.equal(
      readFileSync(file(), "utf8"),
      '\ufeff# mine\r\n[cloud] # here\r\nenabled = true # off\r\nbase_url = "https://x"\r\n',
    );
    if (process.platform !== "win32") assert.equal(statSync(file()).mode & 0o777, 0o640);
    assert.deepEqual(readdirSync(home).sort(), ["compile-cache", "config.lock", "config.toml", "logs"]);
  });

  it("writes through a symbolic link, which is also read through", {
    skip: process.platform === "win32",
  }, async () => {
    const real = join(home, "dotfiles.toml");
    writeFileSync(real, "[proxy]\nport = 9000\n");
    symlinkSync(real, file());
    await editConfig(home, enable);
    assert.ok(lstatSync(file()).isSymbolicLink());
    assert.equal(readFileSync(real, "utf8"), "[proxy]\nport = 9000\n\n[cloud]\nenabled = true\n");
    const { config } = await readConfig(home, {});
    assert.deepEqual([config.proxy.port, config.cloud.enabled], [9000, true]);
  });

  it("loses no change of concurrent writers", async () => {
    const names = Array.from({ length: 8 }, (_, index) => `p${index}`);
    await Promise.all(
      names.map((name) =>
        editConfig(home, [{ path: ["cloud", "bodies", "per_project", name], value: false }]),
      ),
    );
    const { cloud } = parse(readFileSync(file(), "utf8")) as {
      cloud: { bodies: { per_project: Record<string, boolean> } };
    };
    assert.deepEqual(Object.keys(cloud.bodies.per_project).sort(), names);
  });

  it("changes nothing if one of the changes can't be made", async () => {
    const text = "[cloud]\nbodies = 3\n";
    writeFileSync(file(), text);
    const changes = [...enable, { path: ["cloud", "bodies", "enabled"], value: true }];
    await assert.rejects(editConfig(home, changes), CommandFailure);
    assert.equal(readFileSync(file(), "utf8"), text);
    writeFileSync(file(), "[cloud");
    await assert.rejects(editConfig(home, enable), /is not valid TOML\. Fix it first/);
    assert.equal(readFileSync(file(), "utf8"), "[cloud");
  });
});
