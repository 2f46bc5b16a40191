import { readdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** What a person wants gone, beyond what belongs to the installation. */
export interface DeletionWish {
  /** Database, configuration, credentials. */
  readonly purge: boolean;
  readonly logs: boolean;
}

type Kind = "installation" | "data" | "logs";

/** What the meter makes in its home, by name. What is not in this list is not the meter's, and stays. */
const made: readonly (readonly [Kind, RegExp])[] = [
  // The authority's key goes with the trust in it. `.tmp`: what a killed process did not get to rename.
  ["installation", /^(ca|daemon\.json|loopback-token|installed\.json)$/],
  ["installation", /^(daemon|config|outbox)\.lock(-wal|-shm|-journal)?$/],
  ["installation", /^[a-z.-]+\.[0-9a-f]{12}\.tmp$/],
  ["data", /^meter\.db((\.corrupt(-\d+)?)?(-wal|-shm|-journal)?|-wal\.corrupt(-\d+)?)$/],
  ["data", /^(config\.toml|machine-id|outbox|cloud-credentials\.(json|key))$/],
  ["logs", /^logs$/],
];

const madeInLogs = /^(daemon(\.\d+)?|start)\.log(\.\d+)?$/;
const madeInOutbox = /^outbox-\d{6,}\.jsonl$/;
const madeInCa = /^(ca\.pem|key\.pem|bundle-[0-9a-f]{12}\.pem|\.(key|ca)-\d+-\d+)$/;

/** Folders of the home in which only what the meter made is deleted. */
const folders: Readonly<Record<string, RegExp>> = { ca: madeInCa, logs: madeInLogs, outbox: madeInOutbox };

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

const kindOf = (name: string): Kind | null => made.find(([, pattern]) => pattern.test(name))?.[0] ?? null;

const isWanted = (kind: Kind | null, wish: DeletionWish): boolean =>
  kind === "installation" || (kind === "data" && wish.purge) || (kind === "logs" && wish.logs);

/** What would go from a home, and what would stay, by name. */
export function listHome(home: string, wish: DeletionWish): { goes: string[]; stays: string[] } {
  const names = namesIn(home);
  const goes = names.filter((name) => isWanted(kindOf(name), wish));
  return { goes, stays: names.filter((name) => !goes.includes(name)) };
}

/** Deletes what is wanted gone and the meter made; folders, the home included, where nothing is left in them. */
export function deleteFromHome(home: string, wish: DeletionWish): void {
  for (const name of listHome(home, wish).goes) {
    const path = join(home, name);
    const inside = folders[name];
    if (inside === undefined) rmSync(path, { force: true });
    else {
      for (const each of namesIn(path)) if (inside.test(each)) rmSync(join(path, each), { force: true });
      removeEmpty(path);
    }
  }
  if (wish.purge) removeEmpty(home);
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Something else is in it: it stays, and is listed.
  }
}
