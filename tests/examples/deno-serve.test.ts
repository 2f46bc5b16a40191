import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import process from "node:process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { findProgram } from "../../tools/packages.ts";
import { cloudEnvironment } from "../cloud/kit/cloud-process.ts";

const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const deno = findProgram("deno");

const freePort = () =>
  new Promise<number>((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });

describe("examples/deno-serve", {
  skip: deno === null && "NOT TESTED: Deno is not installed (npm run setup)",
}, () => {
  it("serves the cloud by `deno serve`: a person signs up, and every request returns the same person", async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const words = ["serve", "-A", "--no-check", "--host", "127.0.0.1", "--port", String(port)];
    const child = spawn(deno ?? "", [...words, pathOf("examples/deno-serve/main.ts")], {
      stdio: ["ignore", "pipe", "pipe"],
      env: cloudEnvironment({ BASE_URL: url }),
    });
    const kill = () => child.kill("SIGKILL");
    process.on("exit", kill);
    try {
      let said = "";
      await new Promise<void>((resolve, reject) => {
        for (const stream of [child.stdout, child.stderr]) {
          stream.on("data", (chunk) => {
            said += String(chunk);
            if (said.includes(`:${port}`)) resolve();
          });
        }
        child.once("exit", (code) => reject(new Error(`deno serve ended with ${code}: ${said}`)));
      });
      const signedUp = await fetch(`${url}/api/auth/sign-up/email`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: url },
        body: JSON.stringify({ name: "Ann", email: "ann@example.com", password: "correct horse battery" }),
      });
      assert.equal(signedUp.status, 200, await signedUp.clone().text());
      const authorization = `Bearer ${signedUp.headers.get("set-auth-token")}`;
      const asked = Array.from({ length: 8 }, async () => {
        const me = await fetch(`${url}/v1/me`, { headers: { authorization } });
        return [me.status, ((await me.json()) as { user?: { name: string } }).user?.name];
      });
      assert.deepEqual(new Set((await Promise.all(asked)).map(String)), new Set(["200,Ann"]));
      assert.equal((await fetch(`${url}/v1/daemon/whoami`)).status, 401);
    } finally {
      const exited = new Promise((resolve) => child.once("exit", resolve));
      kill();
      await exited;
      process.off("exit", kill);
    }
  });
});
