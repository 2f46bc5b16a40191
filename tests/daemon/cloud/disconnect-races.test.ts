import assert from "node:assert/strict";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import {
  CREDENTIALS_FILE,
  CREDENTIALS_KEY_FILE,
} from "../../../adapters/cloud-credentials/credential-store.ts";
import { createRestoringStore } from "../../../adapters/cloud-credentials/restoring-store.ts";
import type { CredentialStore } from "../../../core/ports/cloud-credentials.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { createMachine, type Machine, type ScriptedCloud, startScriptedCloud } from "./cloud.rig.ts";

/** A step of a store of credentials at which the daemon is held. */
type Step = "seal" | "open" | "exclusively";

/** Holds the first call of a step until `release()`. */
function createGate() {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const pass = async () => {
    reached.resolve();
    await released.promise;
  };
  return { reached: reached.promise, release: released.resolve, pass };
}

const restoring = (stored: CredentialStore, store: Store) =>
  createRestoringStore(stored, {
    mirror: () => store.delivery.readState("cloud_state").api_key_mirror,
    restored: () => {},
  });

describe("a disconnect by a command while the daemon uses the credentials", () => {
  let cloud: ScriptedCloud;
  let command: Machine;
  /** Resolves when the disconnect waits for the daemon. */
  let waits: PromiseWithResolvers<void>;

  beforeEach(async () => {
    cloud = await startScriptedCloud();
    waits = Promise.withResolvers<void>();
    command = await createMachine(cloud.url, {
      wrapCredentials: (stored, store) => {
        const { exclusively } = stored;
        return restoring(
          {
            ...stored,
            exclusively(work) {
              setImmediate(waits.resolve);
              return exclusively(work);
            },
          },
          store,
        );
      },
    });
  });
  afterEach(async () => {
    await command.close();
    await cloud.close();
  });

  /** Creates the daemon's service on the home of the command. It is held at the step. */
  function createDaemon(step: Step, gate: ReturnType<typeof createGate>): Promise<Machine> {
    return createMachine(cloud.url, {
      home: command.home,
      paired: true,
      wrapCredentials: (stored, store) => {
        const hold = <Part extends object>(part: Part): Part => {
          const held = (part as Record<string, unknown>)[step];
          if (typeof held !== "function") return part;
          const wrapped = async (...words: readonly unknown[]) => {
            await gate.pass();
            return await held(...words);
          };
          return { ...part, [step]: wrapped };
        };
        const all = hold(stored);
        return restoring(
          { ...all, exclusively: (work) => all.exclusively((file) => work(hold(file))) },
          store,
        );
      },
    });
  }

  function assertNoSecret(): void {
    const { enabled, api_key_mirror } = command.store.delivery.readState("cloud_state");
    assert.deepEqual([enabled, api_key_mirror], [0, null]);
    const names = readdirSync(command.home);
    assert.deepEqual(
      names.filter((name) => name === CREDENTIALS_FILE || name === CREDENTIALS_KEY_FILE),
      [],
    );
  }

  async function disconnect(gate: ReturnType<typeof createGate>): Promise<void> {
    const disconnected = command.service.disconnect();
    await Promise.race([disconnected, waits.promise]);
    gate.release();
    assert.equal((await disconnected).kind, "disconnected");
  }

  for (const step of ["exclusively", "seal"] as const)
    it(`leaves no copy that the daemon was making, held before ${step}()`, async () => {
      const gate = createGate();
      const daemon = await createDaemon(step, gate);
      try {
        const started = daemon.service.start();
        await gate.reached;
        await disconnect(gate);
        await started;
        assertNoSecret();
        assert.equal(await daemon.ports.credentials.read(), null);
      } finally {
        gate.release();
        await daemon.service.stop();
        await daemon.ports.client.close();
        daemon.store.close();
      }
    });

  it("leaves no file that the daemon was restoring from its copy", async () => {
    const stored = await command.ports.credentials.read();
    const api_key_mirror = await command.ports.credentials.seal(stored!);
    command.store.delivery.updateState("cloud_state", { enabled: 1, api_key_mirror });
    const gate = createGate();
    const daemon = await createDaemon("open", gate);
    try {
      rmSync(join(command.home, CREDENTIALS_FILE));
      const read = daemon.ports.credentials.read();
      await gate.reached;
      assert.equal((await command.service.disconnect()).kind, "disconnected");
      gate.release();
      assert.equal(await read, null);
      assertNoSecret();
    } finally {
      gate.release();
      await daemon.ports.client.close();
      daemon.store.close();
    }
  });
});
