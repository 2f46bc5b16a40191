import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** The cloud as a process of its own. */
export interface CloudProcess {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts `meter-cloud serve` on a free port. */
export async function startCloud(databaseUrl: string, connections: number): Promise<CloudProcess> {
  const home = mkdtempSync(join(tmpdir(), "meter-bench-home-"));
  const program = fileURLToPath(new URL("../../cli/cloud-bin.js", import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, program, "serve", "--port", "0"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      METER_CLOUD_HOME: home,
      METER_CLOUD_DATABASE_MAX_CONNECTIONS: String(connections),
      METER_CLOUD_LIMITS_KEY_PER_MINUTE: "10000000",
      METER_CLOUD_LOG_LEVEL: "error",
    },
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    let said = "";
    child.stdout.on("data", (chunk) => {
      said += String(chunk);
      const [, found] = /answers at (\S+)/.exec(said) ?? [];
      if (found !== undefined) resolve(found);
    });
    void exited.then(() => reject(new Error("the cloud did not start")));
  });
  return {
    url,
    stop: async () => {
      child.kill("SIGTERM");
      await exited;
      rmSync(home, { recursive: true, force: true });
    },
  };
}
