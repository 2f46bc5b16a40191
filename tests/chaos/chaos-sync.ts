import { setTimeout as delay } from "node:timers/promises";
import { readStore, waitFor } from "../end-to-end/meter-process.rig.ts";
import { type RawCall, rawCalls } from "../end-to-end/raw-client.rig.ts";
import { createSeededRandom, type SeededRandom } from "../simulation/seeded-random.ts";
import { createSyncRig, type SyncRig, type Victim } from "./sync-rig.ts";

/** The result of the rounds. */
interface ChaosResult {
  readonly rounds: number;
  readonly seed: string;
  /** Calls with a complete response, and calls that a kill cut off. */
  readonly answered: number;
  readonly cut: number;
  readonly kills: Readonly<Record<Victim, number>>;
  /** Requests that the daemon has. */
  readonly captured: number;
  /** Answered calls without a record, because the killed daemon had not stored them yet. */
  readonly lost: number;
  /** How long before the kill their responses were complete, in milliseconds. */
  readonly lostBeforeMs: { readonly median: number; readonly longest: number };
  /** Answered calls without a record although their daemon was not killed. Must be 0. */
  readonly unexplained: readonly string[];
  /** Calls without a record that the coverage counts as unfinished, and other counts of such calls, which must be 0. */
  readonly unfinished: number;
  readonly unmetered: number;
  /** Ends of the daemon without a stop that the coverage states. Must be the kills of it. */
  readonly interrupted: number;
  /** Calls with more than one record. Must be 0. */
  readonly doubled: readonly string[];
  /** Captured requests that are not in the cloud. Must be 0. */
  readonly missing: readonly string[];
  /** Requests that are in the cloud more than once, or were never captured. Must be 0. */
  readonly surplus: readonly string[];
  readonly quarantined: number;
  /** The output of `meter cloud reconcile` and its exit code; null if the output was something else. */
  readonly reconcile: { readonly code: number | null; readonly said: Reconciled | null };
}

interface Answered {
  readonly at: number;
  readonly killsBefore: number;
}

/** The counts in `meter cloud reconcile --json` that must be 0, and the totals that they belong to. */
interface Reconciled {
  readonly verdict: string;
  readonly is_delivery_exact: boolean;
  readonly difference_pico_usd: string;
  readonly cloud: { readonly requests: number; readonly cost_pico_usd: string };
}

/** The longest time between two kills, milliseconds. */
const CALM_MS = 1_000;

/** Simultaneous calls. */
const CLIENTS = 3;

const VICTIMS: readonly (readonly Victim[])[] = [
  ["daemon"],
  ["cloud"],
  ["postgres"],
  ["daemon", "cloud"],
  ["cloud", "postgres"],
  ["daemon", "cloud", "postgres"],
];

/** The scenarios of the calls: responses of every kind of price, refusals, and slow ones. */
const CALLS: readonly (readonly [api: string, scenario: string])[] = [
  ["anthropic", "ok"],
  ["anthropic", "thinking+cached"],
  ["anthropic", "drip"],
  ["anthropic", "overloaded"],
  ["chat", "cached+gzip"],
  ["chat", "no-usage"],
  ["responses", "thinking"],
  ["gemini events", "shredded"],
];

function pickCall(random: SeededRandom): RawCall {
  const [api, scenario] = random.pick(CALLS);
  return rawCalls[api]?.(scenario, random.pick([true, false])) as RawCall;
}

/**
 * Kills the daemon, the cloud and PostgreSQL at random points while calls go through the proxy and the daemon syncs;
 * then lets everything settle and compares both sides. The same seed gives the same victims and pauses; the state in
 * which they are hit depends on the machine.
 */
export async function runChaos(
  { rounds, seed }: { rounds: number; seed: string },
  tell: (line: string) => void,
): Promise<ChaosResult> {
  const rig = await createSyncRig(seed);
  const random = createSeededRandom(`${seed} kills`);
  const kills = { daemon: 0, cloud: 0, postgres: 0 };
  /** When each response was complete, and how many daemons were killed before its request, all on one clock. */
  const answered = new Map<string, Answered>();
  const killedAt: number[] = [];
  let [begun, cut, over] = [0, 0, false];
  const traffic = async (_: unknown, client: number) => {
    const caller = rig.createCaller(`client ${client}`);
    const picks = createSeededRandom(`${seed} calls ${client}`);
    while (!over) {
      // Each call has its own project, which identifies its record.
      const label = `call-${(begun += 1)}`;
      const killsBefore = killedAt.length;
      try {
        await caller.call(pickCall(picks), label);
        answered.set(label, { at: performance.now(), killsBefore });
      } catch {
        cut += 1;
        await delay(20);
      }
    }
    caller.close();
  };
  const poke = async () => {
    while (!over) {
      await rig.poke();
      await delay(100);
    }
  };
  try {
    await rig.startDaemon();
    const running = [...Array.from({ length: CLIENTS }, traffic), poke()];
    for (let round = 1; round <= rounds; round += 1) {
      await delay(random.integer(0, CALM_MS));
      const victims = random.pick(VICTIMS);
      if (victims.includes("daemon")) killedAt.push(performance.now());
      await rig.crash(victims);
      for (const victim of victims) kills[victim] += 1;
      tell(`round ${round}: ${victims.join(", ")}; ${answered.size} calls answered so far`);
    }
    over = true;
    await Promise.all(running);
    await waitFor(
      "everything to be sent",
      async () => {
        await rig.poke();
        return readStore(rig.home, (store) => store.delivery.countPending() === 0);
      },
      120_000,
    );
    return { rounds, seed, answered: answered.size, cut, kills, ...(await compare(rig, answered, killedAt)) };
  } finally {
    over = true;
    await rig.close();
  }
}

/** Compares the daemon's records with those of the clients and the cloud. */
async function compare(rig: SyncRig, answered: ReadonlyMap<string, Answered>, killedAt: readonly number[]) {
  const rows = await rig.daemon.rows();
  const projects = rows.map((row) => row.project);
  const [recorded, doubled] = firstAndRest(projects);
  const lost = [...answered].filter(([label]) => !recorded.has(label));
  const lostMs = lost
    // A response may have been read after the daemon that relayed it was killed.
    .map(([, { at, killsBefore }]) => Math.max(0, Math.round((killedAt[killsBefore] ?? Number.NaN) - at)))
    .sort((one, other) => one - other);
  const here = new Set(rows.map((row) => row.requestId));
  const [there, again] = firstAndRest(await rig.cloudIds());
  const day = (at: number) => new Date(at).toISOString().slice(0, 10);
  const period = ["--from", day(Date.now() - 86_400_000), "--to", day(Date.now())];
  const said = await rig.daemon.run(["cloud", "reconcile", "--json", ...period]);
  return {
    captured: rows.length,
    lost: lostMs.length,
    lostBeforeMs: { median: lostMs[lostMs.length >> 1] ?? 0, longest: lostMs.at(-1) ?? 0 },
    unexplained: lost.filter(([, { killsBefore }]) => killsBefore >= killedAt.length).map(([label]) => label),
    unfinished: await rig.daemon.counted("unfinished"),
    unmetered: (await rig.daemon.coverage())
      .filter(({ kind }) => ["unreadable", "lost", "dropped", "capture_failed"].includes(kind))
      .reduce((sum, { count }) => sum + count, 0),
    interrupted: await rig.daemon.counted("interrupted"),
    doubled,
    missing: [...here].filter((id) => !there.has(id)),
    surplus: [...again, ...[...there].filter((id) => !here.has(id))],
    quarantined: await readStore(rig.home, (store) => store.quarantine.count()),
    reconcile: { code: said.code, said: readReconciled(said.stdout) },
  };
}

function readReconciled(text: string): Reconciled | null {
  try {
    const { verdict, is_delivery_exact, difference_pico_usd, cloud } = JSON.parse(text) as Reconciled;
    const { requests, cost_pico_usd } = cloud;
    return { verdict, is_delivery_exact, difference_pico_usd, cloud: { requests, cost_pico_usd } };
  } catch {
    return null;
  }
}

function firstAndRest(texts: readonly string[]): [first: Set<string>, rest: string[]] {
  const first = new Set<string>();
  const rest = texts.filter((text) => first.size === first.add(text).size);
  return [first, rest];
}

/** Whether nothing that was captured was lost, nothing counted twice, and both sides agree to the last pico-USD. */
export function isWhole({
  kills,
  interrupted,
  unexplained,
  captured,
  doubled,
  missing,
  surplus,
  quarantined,
  reconcile,
}: ChaosResult): boolean {
  return (
    captured > 0 &&
    interrupted === kills.daemon &&
    unexplained.length + doubled.length + missing.length + surplus.length === 0 &&
    quarantined === 0 &&
    reconcile.code === 0 &&
    reconcile.said?.is_delivery_exact === true &&
    reconcile.said.difference_pico_usd === "0" &&
    reconcile.said.cloud.requests === captured
  );
}
