import { setTimeout as delay } from "node:timers/promises";
import { readStore, waitFor } from "../end-to-end/meter-process.ts";
import { createSeededRandom } from "../simulation/seeded-random.ts";
import { createSyncRig, type Victim } from "./sync-rig.ts";

/** What came of the rounds. */
export interface ChaosResult {
  readonly rounds: number;
  readonly seed: string;
  /** Calls that went through the proxy, and calls that a kill cut off. */
  readonly calls: number;
  readonly cut: number;
  readonly kills: Readonly<Record<Victim, number>>;
  /** Requests that the daemon has. */
  readonly captured: number;
  /** Captured, but not in the cloud: none. */
  readonly missing: readonly string[];
  /** In the cloud more than once, or never captured: none. */
  readonly surplus: readonly string[];
  readonly quarantined: number;
  /** What `meter cloud reconcile` said and how it ended. */
  readonly reconcile: { readonly code: number | null; readonly isDeliveryExact: boolean };
}

/** The longest time between two kills, milliseconds. */
const CALM_MS = 1_500;

/** Calls at a time. */
const CLIENTS = 3;

const VICTIMS: readonly (readonly Victim[])[] = [
  ["daemon"],
  ["cloud"],
  ["postgres"],
  ["daemon", "cloud"],
  ["cloud", "postgres"],
  ["daemon", "cloud", "postgres"],
];

/**
 * Kills the daemon, the cloud and PostgreSQL at random points while calls go through the proxy and the daemon syncs;
 * then lets everything settle and compares both sides. The same seed gives the same victims and pauses; what they meet is
 * the machine's.
 */
export async function runChaos(
  { rounds, seed }: { rounds: number; seed: string },
  tell: (line: string) => void,
): Promise<ChaosResult> {
  const rig = await createSyncRig(seed);
  const random = createSeededRandom(`${seed} kills`);
  const kills = { daemon: 0, cloud: 0, postgres: 0 };
  let [calls, cut, over] = [0, 0, false];
  try {
    await rig.startDaemon();
    const traffic = Array.from({ length: CLIENTS }, async () => {
      while (!over) {
        try {
          await rig.call();
          calls += 1;
        } catch {
          cut += 1;
          await delay(20);
        }
      }
    });
    const pokes = (async () => {
      while (!over) {
        await rig.poke();
        await delay(100);
      }
    })();
    for (let round = 1; round <= rounds; round += 1) {
      await delay(random.integer(0, CALM_MS));
      const victims = random.pick(VICTIMS);
      await rig.crash(victims);
      for (const victim of victims) kills[victim] += 1;
      tell(`round ${round}: ${victims.join(", ")}; ${calls} calls so far`);
    }
    over = true;
    await Promise.all([...traffic, pokes]);
    await waitFor(
      "everything to be sent",
      async () => {
        await rig.poke();
        return readStore(rig.home, (store) => store.countPending() === 0);
      },
      120_000,
    );
    const here = (await rig.daemon.rows()).map((row) => row.requestId);
    const there = await rig.cloudIds();
    const [known, seen] = [new Set(here), new Set<string>()];
    const surplus = there.filter((id) => {
      const isFirst = !seen.has(id);
      seen.add(id);
      return !isFirst || !known.has(id);
    });
    const day = (at: number) => new Date(at).toISOString().slice(0, 10);
    const said = await rig.daemon.run([
      "cloud",
      "reconcile",
      "--json",
      "--from",
      day(Date.now() - 86_400_000),
      "--to",
      day(Date.now()),
    ]);
    return {
      rounds,
      seed,
      calls,
      cut,
      kills,
      captured: here.length,
      missing: here.filter((id) => !seen.has(id)),
      surplus,
      quarantined: await readStore(rig.home, (store) => store.countQuarantine()),
      reconcile: {
        code: said.code,
        isDeliveryExact: /"(?:is_delivery_exact|isDeliveryExact)":\s*true/.test(said.stdout),
      },
    };
  } finally {
    over = true;
    await rig.close();
  }
}

/** Whether nothing was lost and nothing counted twice. */
export function isWhole({ captured, missing, surplus, quarantined, reconcile }: ChaosResult): boolean {
  return (
    captured > 0 &&
    missing.length === 0 &&
    surplus.length === 0 &&
    quarantined === 0 &&
    reconcile.isDeliveryExact
  );
}
