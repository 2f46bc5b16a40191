import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { stateFile } from "../../cli/daemon/daemon-process.ts";
import { shellFile } from "../../core/operations/install/environment-files.ts";
import { createHome, onNodeOnly, removeHome, SUITE_TIMEOUT_MS, startMeter } from "./meter-process.rig.ts";

const skip = onNodeOnly || (process.platform === "win32" ? "Windows has no sh" : false);

describe("a shell that init --apps configures", { skip, timeout: SUITE_TIMEOUT_MS }, () => {
  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    it(`uses the proxy while the daemon runs, and not after ${signal}`, async () => {
      const home = createHome(["[proxy]", "port = 0", "[api]", "port = 0"]);
      const meter = await startMeter(home);
      try {
        const proxy = `http://127.0.0.1:${meter.proxyPort}`;
        const file = join(home, "env.sh");
        writeFileSync(file, shellFile({ HTTPS_PROXY: proxy }, stateFile(home)));
        // A new shell, started from one that uses the meter.
        const said = () =>
          execFileSync("sh", ["-c", `. '${file}'; printf %s "$HTTPS_PROXY"`], {
            encoding: "utf8",
            env: { PATH: process.env.PATH, HTTPS_PROXY: proxy },
          });
        const fresh = () =>
          execFileSync("sh", ["-c", `. '${file}'; printf %s "$HTTPS_PROXY"`], {
            encoding: "utf8",
            env: { PATH: process.env.PATH },
          });
        assert.equal(said(), proxy);
        // The daemon listens on another port than the one in the file, as after a change of the configuration.
        writeFileSync(
          file,
          shellFile({ HTTPS_PROXY: `http://127.0.0.1:${meter.proxyPort + 1}` }, stateFile(home)),
        );
        assert.equal(said(), proxy, "the inherited value is not the file's, so it stays");
        assert.equal(fresh(), "");
        writeFileSync(file, shellFile({ HTTPS_PROXY: proxy }, stateFile(home)));
        assert.equal(fresh(), proxy);
        process.kill(meter.pid, signal);
        await meter.ended;
        assert.equal(said(), "");
      } finally {
        await meter.stop();
        removeHome(home);
      }
    });
  }
});
