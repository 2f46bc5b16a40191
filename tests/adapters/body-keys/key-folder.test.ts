import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createBodyKeyFolder } from "../../../adapters/body-keys/key-folder.ts";

const ID = "01994b8e-7c00-7000-8000-000000000001";
const KEY = Uint8Array.from({ length: 32 }, (_, at) => at * 7);

function open(context: { after(done: () => void): void }) {
  const home = mkdtempSync(join(tmpdir(), "meter-body-keys-"));
  context.after(() => rmSync(home, { recursive: true }));
  const folder = join(home, "body-keys");
  return { folder, keys: createBodyKeyFolder(folder) };
}

describe("a folder of body keys", () => {
  it("returns what was written, to another instance too, until it is destroyed", async (context) => {
    const { folder, keys } = open(context);
    assert.equal(await keys.read(ID), null);
    await keys.write(ID, KEY);
    assert.deepEqual(await createBodyKeyFolder(folder).read(ID.toUpperCase()), KEY);
    await keys.destroy([ID, "01994b8e-7c00-7000-8000-000000000002"]);
    assert.equal(await keys.read(ID), null);
    assert.deepEqual(readdirSync(folder), []);
  });

  it("keeps keys from other users of the machine", {
    skip: process.platform === "win32",
  }, async (context) => {
    const { folder, keys } = open(context);
    await keys.write(ID, KEY);
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    assert.equal(statSync(join(folder, `${ID}.key`)).mode & 0o777, 0o600);
  });

  it("rejects an id that is not a UUID and a file that is not a key", async (context) => {
    const { folder, keys } = open(context);
    await assert.rejects(keys.read("../../etc/passwd"), /not the id of a body key/);
    await keys.write(ID, KEY);
    writeFileSync(join(folder, `${ID}.key`), "short\n");
    await assert.rejects(keys.read(ID), /not a key/);
  });
});
