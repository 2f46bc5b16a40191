import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { describe, it } from "node:test";
import { startRelayOnly } from "../../../../cli/commands/start/run-relay-only.ts";
import { onNodeOnly } from "../../../end-to-end/meter-process.rig.ts";
import { createEmptyHome } from "../../run-command.rig.ts";

describe("startRelayOnly()", { skip: onNodeOnly }, () => {
  it("relays with a warning if the file of extra_ca can't be read, which keeps the daemon from starting", async () => {
    const { home, remove } = createEmptyHome('[proxy]\nport = 0\nextra_ca = "/no/such/file.pem"\n');
    const output = new PassThrough();
    try {
      const { proxy } = await startRelayOnly(home, {}, output);
      await proxy.stop(0);
      assert.match(String(output.read()), /^meter: proxy\.extra_ca: ENOENT: .*Fix it in .*config\.toml\.\n$/);
    } finally {
      remove();
    }
  });
});
