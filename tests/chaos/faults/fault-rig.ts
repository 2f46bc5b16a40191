import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { isAlive } from "../../../cli/daemon/daemon-process.ts";
import { requestDaemon } from "../../../cli/daemon/loopback-client.ts";
import type { StoredRequest } from "../../../daemon/store/port/records.ts";
import { expectedRow, inOrder, toComparable } from "../../end-to-end/expected-rows.rig.ts";
import {
  createHome,
  type Finished,
  type MeterProcess,
  PATIENCE_MS,
  type RunOptions,
  runMeter,
  simulationConfig,
  startMeter,
  waitFor,
} from "../../end-to-end/meter-process.rig.ts";
import { dialProvider, rawCalls, receive, writeRequest } from "../../end-to-end/raw-client.rig.ts";
import {
  createParentProxy,
  createProviderSimulation,
  type ParentProxy,
  type ProviderSimulation,
  type SimulatedCall,
} from "../../simulation/mod.ts";
import { createSeededRandom } from "../../simulation/seeded-random.ts";

type Meter = Pick<MeterProcess, "proxyPort" | "caPem">;

/** A call in flight. */
interface OpenCall {
  /** The bytes that have arrived so far. */
  bytes(): Buffer;
  /**
   * Resolves when the call has ended and every byte in both directions equals what the other side sent; otherwise
   * rejects.
   */
  untouched(): Promise<SimulatedCall>;
  /** Resolves when the connection is closed for any reason. */
  over: Promise<{ readonly error: string | null }>;
}

/** A call whose client received every byte. */
export interface WholeCall {
  readonly entry: SimulatedCall;
  /** By `performance.now()`. */
  readonly endedAt: number;
}

/** The providers, homes, disks and daemons of one run. `close()` removes all of them. */
export interface FaultRig {
  readonly simulation: ProviderSimulation;
  readonly random: ReturnType<typeof createSeededRandom>;
  /** Creates a folder for a home or a disk. `name` may contain anything that a folder's name may. */
  folder(name?: string): string;
  /** Writes the configuration of a daemon whose providers are the simulated ones. */
  home(folder?: string, more?: readonly string[]): string;
  /** Mounts a file system in memory over the folder. */
  mount(folder: string, kib: number): void;
  start(home: string, options?: RunOptions & { words?: readonly string[] }): Promise<MeterProcess>;
  /** Sends a complete request. */
  open(meter: Meter, scenario?: string, streams?: boolean): Promise<OpenCall>;
  /** Makes one call and compares every byte with the provider's: no fault of the meter may affect it. */
  call(meter: Meter, scenario?: string): Promise<SimulatedCall>;
  /** Makes calls one after another on several connections until it is stopped. Returns those that succeeded. */
  traffic(
    meter: () => Meter,
    clients: number,
  ): {
    stop(): Promise<{ whole: WholeCall[]; cut: number }>;
  };
  close(): Promise<void>;
}

/** Why no file system can be mounted here; null if one can. */
export function mountObstacle(): string | null {
  if (process.platform !== "linux" || process.getuid?.() !== 0)
    return "needs root on Linux to mount a small tmpfs";
  const folder = mkdtempSync(join(tmpdir(), "meter-mount-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], { stdio: "pipe" });
    execFileSync("umount", [folder], { stdio: "pipe" });
    return null;
  } catch (cause) {
    return `no tmpfs can be mounted here: ${(cause as Error).message.split("\n")[0]}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Starts the providers. The same seed gives the same calls. */
export async function createFaultRig(seed: string): Promise<FaultRig> {
  const simulation = await createProviderSimulation({ seed });
  const parent: ParentProxy = await createParentProxy(simulation);
  const random = createSeededRandom(`faults ${seed}`);
  const folders: string[] = [];
  const mounts: string[] = [];
  const meters: MeterProcess[] = [];

  async function open(meter: Meter, scenario = "ok", streams = true): Promise<OpenCall> {
    const call = (rawCalls.anthropic as (typeof rawCalls)[string])(scenario, streams);
    const sent = writeRequest(call, true, random);
    const socket = await dialProvider(meter, call.host);
    const { bytes, over } = receive(socket);
    socket.write(sent);
    return {
      bytes,
      over,
      async untouched() {
        const received = await over;
        // Each request carries its own key, so that its bytes identify the connection.
        const index = await waitFor("the provider to have got the request", () => {
          const found = simulation.connections.findIndex((each) => Buffer.concat(each.received).equals(sent));
          return found < 0 ? null : { found };
        });
        const entry = await waitFor("the provider to have answered", () =>
          simulation.calls.find(({ connection }) => connection === index.found),
        );
        const connection = simulation.connections[index.found];
        assert.ok(
          Buffer.concat(connection?.sent ?? []).equals(received.bytes),
          "the client received what the provider sent",
        );
        return entry;
      },
    };
  }

  const folder: FaultRig["folder"] = (name = "home") => {
    const outer = mkdtempSync(join(tmpdir(), "meter-fault-"));
    folders.push(outer);
    const inner = join(outer, name);
    mkdirSync(inner, { mode: 0o700 });
    return inner;
  };

  const call: FaultRig["call"] = async (meter, scenario) => (await open(meter, scenario)).untouched();

  return {
    simulation,
    random,
    folder,
    home: (place = folder(), more = []) => createHome(simulationConfig(parent, simulation, more), place),
    mount(place, kib) {
      mkdirSync(place, { recursive: true, mode: 0o700 });
      execFileSync("mount", ["-t", "tmpfs", "-o", `size=${kib}k,mode=0700`, "tmpfs", place], {
        stdio: "pipe",
      });
      mounts.push(place);
    },
    async start(home, options) {
      const meter = await startMeter(home, options);
      meters.push(meter);
      return meter;
    },
    open,
    call,
    traffic(meter, clients) {
      let over = false;
      const whole: WholeCall[] = [];
      let cut = 0;
      const running = Array.from({ length: clients }, async () => {
        while (!over) {
          let opened: OpenCall | null = null;
          try {
            opened = await open(meter(), random.pick(["ok", "gzip+thinking", "chunked+br+cached"]));
          } catch {
            // The port is briefly unavailable.
            cut += 1;
            await new Promise((resolve) => setTimeout(resolve, 20));
            continue;
          }
          const { error } = await opened.over;
          const endedAt = performance.now();
          if (error === null && /\r\n\r\n/.test(opened.bytes().toString("latin1"))) {
            const entry = await opened.untouched().catch(() => null);
            if (entry !== null) whole.push({ entry, endedAt });
            else cut += 1;
          } else cut += 1;
        }
      });
      return {
        async stop() {
          over = true;
          await Promise.all(running);
          return { whole, cut };
        },
      };
    },
    async close() {
      for (const meter of meters) {
        // A daemon that a scenario suspended would never end.
        for (const signal of ["SIGCONT", "SIGTERM"] as const) {
          try {
            process.kill(meter.pid, signal);
          } catch {
            // It is gone.
          }
        }
        await meter.stop();
      }
      for (const place of mounts.reverse()) execFileSync("umount", ["-l", place], { stdio: "pipe" });
      for (const place of folders) rmSync(place, { recursive: true, force: true, maxRetries: 10 });
      await parent.close();
      await simulation.close();
    },
  };
}

/** Waits until the daemon's process has exited; `stop()` then returns how it ended. */
export function ended(meter: MeterProcess): Promise<unknown> {
  return waitFor("the daemon to end", () => !isAlive(meter.pid));
}

/** Returns the row of the call with this response. */
export function rowOf(meter: MeterProcess, entry: SimulatedCall): Promise<StoredRequest> {
  return waitFor(`the row of ${entry.responseId}`, async () =>
    (await meter.rows()).find((row) => row.providerResponseId === entry.responseId),
  );
}

/** Asserts that each call has one row that equals the provider's usage to the last token and pico-USD. */
export async function assertRows(meter: MeterProcess, entries: readonly SimulatedCall[]): Promise<void> {
  const ids = new Set(entries.map(({ responseId }) => responseId));
  const found = await waitFor(`${entries.length} rows`, async () => {
    const rows = (await meter.rows()).filter((row) => ids.has(row.providerResponseId));
    return rows.length >= entries.length ? rows : null;
  });
  assert.deepEqual(inOrder(found.map(toComparable)), inOrder(entries.map(expectedRow)));
}

/** Returns the output of `meter status` without wrapped lines. */
export function meterStatus(home: string): Promise<Finished> {
  return runMeter(home, ["status"], { env: { COLUMNS: "1000" } });
}

/** Returns the output of `meter status` once it exits with the code. */
export function statusUntil(home: string, code: number): Promise<Finished> {
  return waitFor(`meter status to end with ${code}`, async () => {
    const status = await meterStatus(home);
    return status.code === code ? status : null;
  });
}

/** The body of `GET /health`. */
export async function health(meter: Pick<MeterProcess, "apiPort">): Promise<Record<string, unknown>> {
  const answer = await requestDaemon(meter.apiPort, "/health", null, { timeoutMs: PATIENCE_MS });
  return JSON.parse(answer.body) as Record<string, unknown>;
}

/** Writes to the file until the disk is full. */
export function fillDisk(filler: string): void {
  for (const bytes of [65_536, 4_096, 512, 1]) {
    const block = Buffer.alloc(bytes, 1);
    try {
      for (;;) writeFileSync(filler, block, { flag: "a" });
    } catch (cause) {
      assert.equal((cause as NodeJS.ErrnoException).code, "ENOSPC");
    }
  }
}
