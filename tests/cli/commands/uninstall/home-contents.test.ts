import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { deleteFromHome, listHome } from "../../../../cli/commands/uninstall/home-contents.ts";

/** Every name that the meter creates in its home, except those that `init` records. */
const installation = [
  ...[
    "ca/ca.pem",
    "ca/key.pem",
    "ca/bundle-0123456789ab.pem",
    "daemon.json",
    "daemon.lock",
    "daemon.lock-wal",
  ],
  ...[
    "daemon.lock-shm",
    "config.lock",
    "config.lock-wal",
    "outbox.lock",
    "import.lock",
    "cloud-credentials.lock",
    "loopback-token",
    "installed.json",
  ],
  "proxy-password",
  ...["daemon.json.0123456789ab.tmp", "daemon.starting", "relay.json", "node-preload.cjs", "wgetrc"],
  ...["import/copy.db", "import/copy.db-wal", "import/copy.db-shm"],
  "compile-cache/v24.21.0-x64-964aae3f-0/17f92957",
];
const data = [
  ...["meter.db", "meter.db-wal", "meter.db-shm", "meter.db.corrupt", "meter.db.corrupt-2-wal"],
  ...["meter.db-wal.corrupt", "meter.db-wal.corrupt-3", "config.toml", "machine-id", "id-key"],
  ...["cloud-credentials.json", "cloud-credentials.key", "outbox/outbox-000001.jsonl"],
];
const logs = ["logs/daemon.log", "logs/daemon.1.log", "logs/start.log"];
const foreign = ["notes.txt", "meter.db.backup", "outbox/mine.jsonl", "ca/corporate.pem", "logs/mine.log"];

function inHome(names: readonly string[], work: (home: string) => void): void {
  const home = mkdtempSync(join(tmpdir(), "meter-home-"));
  try {
    for (const name of names) {
      mkdirSync(dirname(join(home, name)), { recursive: true });
      writeFileSync(join(home, name), "");
    }
    work(home);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

const filesIn = (home: string) =>
  readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name).slice(home.length + 1))
    .sort();

describe("deleteFromHome()", () => {
  const all = [...installation, ...data, ...logs];

  it("deletes all of the meter's files and the folder, if asked to", () =>
    inHome(all, (home) => {
      deleteFromHome(home, { purge: true, logs: true });
      assert.throws(() => readdirSync(home), { code: "ENOENT" });
    }));

  it("keeps records, settings and logs by default", () =>
    inHome(all, (home) => {
      deleteFromHome(home, { purge: false, logs: false });
      assert.deepEqual(filesIn(home), [...data, ...logs].sort());
      deleteFromHome(home, { purge: false, logs: true });
      assert.deepEqual(filesIn(home), data.toSorted());
    }));

  it("deletes only files that the meter created, and lists the others", () =>
    inHome([...all, ...foreign], (home) => {
      deleteFromHome(home, { purge: true, logs: true });
      assert.deepEqual(filesIn(home), foreign.toSorted());
      assert.deepEqual(listHome(home, { purge: true, logs: true }).kept, ["meter.db.backup", "notes.txt"]);
    }));
});
