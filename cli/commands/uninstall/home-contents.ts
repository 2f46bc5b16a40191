import { readdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** What `meter uninstall` deletes in addition to the installation itself. */
export interface DeletionOptions {
  /** Database, configuration, credentials. */
  readonly purge: boolean;
  readonly logs: boolean;
}

type Kind = "installation" | "data" | "logs";

/** The files that meter creates in its home, by name. Files that match nothing here are not ours and are kept. */
const ownFiles: readonly (readonly [Kind, RegExp])[] = [
  // The authority's key is deleted together with the trust in it. `.tmp`: left by a process killed before the rename.
  [
    "installation",
    /^(ca|daemon\.(json|starting)|relay\.json|loopback-token|proxy-password|installed\.json)$/,
  ],
  ["installation", /^(node-preload\.cjs|wgetrc)$/],
  // Left by an import that was killed.
  ["installation", /^import$/],
  ["installation", /^(daemon|config|outbox|import|cloud-credentials)\.lock(-wal|-shm|-journal)?$/],
  ["installation", /^compile-cache$/],
  ["installation", /^[a-z.-]+\.[0-9a-f]{12}\.tmp$/],
  ["data", /^meter\.db((\.corrupt(-\d+)?)?(-wal|-shm|-journal)?|-wal\.corrupt(-\d+)?)$/],
  ["data", /^(config\.toml|machine-id|id-key|outbox|cloud-credentials\.(json|key))$/],
  ["logs", /^logs$/],
];

const ownLogs = /^(daemon(\.\d+)?|start)\.log(\.\d+)?$/;
const ownOutbox = /^outbox-\d{6,}\.jsonl$/;
const ownImport = /^copy\.db(-wal|-shm|-journal)?$/;
const ownCa = /^(ca\.pem|key\.pem|bundle-[0-9a-f]{12}\.pem|\.(key|ca)-\d+-\d+)$/;

/** Folders of the home in which only files created by meter are deleted. */
const folders: Readonly<Record<string, RegExp>> = {
  ca: ownCa,
  import: ownImport,
  logs: ownLogs,
  outbox: ownOutbox,
};

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

const kindOf = (name: string): Kind | null => ownFiles.find(([, pattern]) => pattern.test(name))?.[0] ?? null;

const isDeleted = (kind: Kind | null, options: DeletionOptions): boolean =>
  kind === "installation" || (kind === "data" && options.purge) || (kind === "logs" && options.logs);

/** Lists what would be deleted from a home and what would be kept, by name. */
export function listHome(home: string, options: DeletionOptions): { deleted: string[]; kept: string[] } {
  const names = namesIn(home);
  const deleted = names.filter((name) => isDeleted(kindOf(name), options));
  return { deleted, kept: names.filter((name) => !deleted.includes(name)) };
}

/** Deletes files created by meter from its home, and folders that are then empty, including the home itself. */
export function deleteFromHome(home: string, options: DeletionOptions): void {
  for (const name of listHome(home, options).deleted) {
    const path = join(home, name);
    const inside = folders[name];
    if (name === "compile-cache") rmSync(path, { recursive: true, force: true });
    else if (inside === undefined) rmSync(path, { force: true });
    else {
      for (const each of namesIn(path)) if (inside.test(each)) rmSync(join(path, each), { force: true });
      removeEmpty(path);
    }
  }
  if (options.purge) removeEmpty(home);
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Not empty: it is kept, and listed.
  }
}
