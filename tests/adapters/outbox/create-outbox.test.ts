import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { createOutbox, deleteSentBefore, OUTBOX_FILES } from "../../../adapters/outbox/create-outbox.ts";
import type { OutboxItem } from "../../../core/ports/outbox.ts";
import { uuidV7 } from "../../../core/values/uuid.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "meter-outbox-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const item = (n: number, bytes = 10): OutboxItem => ({
  kind: "metadata",
  at: n,
  origin: "https://cloud",
  projects: ["p"],
  requestIds: [`r${n}`],
  fields: ["model"],
  payload: "x".repeat(bytes),
});
const files = () => readdirSync(join(home, "outbox")).sort();
const path = (name: string) => join(home, "outbox", name);

async function seqs(): Promise<number[]> {
  const found: number[] = [];
  for await (const entry of createOutbox(home).read()) found.push(entry.seq);
  return found;
}

describe("createOutbox()", () => {
  it("keeps entries in order, readable only by their owner, with an intact chain", async () => {
    const outbox = createOutbox(home);
    for (let n = 1; n <= 3; n += 1) await outbox.append(item(n));
    assert.deepEqual(await seqs(), [1, 2, 3]);
    assert.equal(statSync(path(files()[0] as string)).mode & 0o777, 0o600);
    assert.deepEqual(await outbox.verify(), { ok: true, entries: 3, firstSeq: 1, lastSeq: 3 });
  });

  it("continues the chain in another process", async () => {
    const [one, other] = [createOutbox(home), createOutbox(home)];
    for (const [n, outbox] of [one, other, one, other].entries()) await outbox.append(item(n));
    assert.deepEqual(await one.verify(), { ok: true, entries: 4, firstSeq: 1, lastSeq: 4 });
  });

  // Planted: no lock around the write; each of four runs then had two entries of one number.
  it("keeps one chain if three processes write at once, also across a rotation", async () => {
    const script = fileURLToPath(new URL("./append-many.rig.ts", import.meta.url));
    const runtime = "Deno" in globalThis ? ["run", "--allow-all"] : [];
    const writers = await Promise.all(
      ["a", "b", "c"].map(async (name) => {
        const words = [...runtime, script, home, name, "40", "100000"];
        const child = spawn(process.execPath, words, { stdio: ["pipe", "pipe", "inherit"] });
        const ended = once(child, "exit");
        await once(child.stdout, "data");
        return { child, ended };
      }),
    );
    for (const { child } of writers) child.stdin.write("go\n");
    for (const { ended } of writers) assert.deepEqual(await ended, [0, null]);
    const outbox = createOutbox(home);
    const ids: string[] = [];
    for await (const { requestIds } of outbox.read()) ids.push(...requestIds);
    assert.deepEqual(await outbox.verify(), { ok: true, entries: 120, firstSeq: 1, lastSeq: 120 });
    assert.equal(new Set(ids).size, 120);
    assert.ok(files().length > 1);
  });

  it("serialises appends of one process", async () => {
    const [one, other] = [createOutbox(home), createOutbox(home)];
    await Promise.all([1, 2, 3, 4].map((n) => (n % 2 === 0 ? one : other).append(item(n))));
    assert.deepEqual(await one.verify(), { ok: true, entries: 4, firstSeq: 1, lastSeq: 4 });
  });

  it("ignores a line that is being written", async () => {
    await createOutbox(home).append(item(1));
    appendFileSync(path(files()[0] as string), '{"seq":2,"prev');
    assert.deepEqual(await createOutbox(home).verify(), { ok: true, entries: 1, firstSeq: 1, lastSeq: 1 });
  });

  it("rotates, keeps a limited number of files, and verifies the rest", async () => {
    const outbox = createOutbox(home, 500);
    for (let n = 1; n <= 40; n += 1) await outbox.append(item(n, 100));
    assert.equal(files().length, OUTBOX_FILES);
    const verdict = await outbox.verify();
    assert.ok(verdict.ok && verdict.lastSeq === 40 && verdict.firstSeq > 1);
  });

  it("cuts off an incomplete line of a killed process", async () => {
    await createOutbox(home).append(item(1));
    appendFileSync(path(files()[0] as string), '{"seq":2,"prev');
    await createOutbox(home).append(item(2));
    assert.deepEqual(await seqs(), [1, 2]);
    assert.equal((await createOutbox(home).verify()).ok, true);
    writeFileSync(path("outbox-000001.jsonl"), "torn");
    await createOutbox(home).append(item(3));
    assert.deepEqual(await seqs(), [1]);
  });

  it("cuts off a line that a power cut left incomplete", async () => {
    await createOutbox(home).append(item(1));
    const file = path(files()[0] as string);
    appendFileSync(file, `{"seq":2,${"\0".repeat(512)}"}\n${"\0".repeat(40)}"}\n`);
    assert.equal((await createOutbox(home).verify()).ok, true);
    await createOutbox(home).append(item(2));
    assert.deepEqual(await seqs(), [1, 2]);
    assert.equal(readFileSync(file).includes(0), false);
  });

  it("detects a changed, a missing and a moved entry", async () => {
    const outbox = createOutbox(home);
    for (let n = 1; n <= 5; n += 1) await outbox.append(item(n));
    const file = path(files()[0] as string);
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    const write = (changed: readonly (string | undefined)[]) =>
      writeFileSync(file, `${changed.join("\n")}\n`);
    const changes: [lines: (string | undefined)[], line: number][] = [
      [lines.with(2, lines[2]?.replace('"r3"', '"r9"') as string), 3],
      [lines.toSpliced(2, 1), 3],
      [[lines[1], lines[0], ...lines.slice(2)], 2],
      [lines.with(1, "not an entry"), 2],
    ];
    for (const [changed, line] of changes) {
      write(changed);
      const verdict = await outbox.verify();
      assert.ok(!verdict.ok && verdict.line === line, JSON.stringify(verdict));
    }
  });
});

describe("deleteSentBefore()", () => {
  const batch = (at: number, requestedAt: number, text = ""): OutboxItem => ({
    ...item(at),
    payload: JSON.stringify({
      records: [{ text, requested_at: new Date(requestedAt).toISOString() }],
    }),
  });

  it("deletes what was sent of requests from before a time, and the rest of the chain stays intact and continues", async () => {
    const outbox = createOutbox(home, 400);
    for (const at of [10, 20, 30, 40, 50]) await outbox.append(batch(at, at));
    const fileCount = files().length;
    assert.equal(await deleteSentBefore(home, 30), 2);
    assert.deepEqual(await seqs(), [3, 4, 5]);
    assert.ok(files().length < fileCount);
    assert.deepEqual(await outbox.verify(), { ok: true, entries: 3, firstSeq: 3, lastSeq: 5 });
    assert.equal(await deleteSentBefore(home, 30), 0);
    await outbox.append(batch(60, 60));
    assert.deepEqual(await outbox.verify(), { ok: true, entries: 4, firstSeq: 3, lastSeq: 6 });
  });

  it("finds a request that was sent late, by its time in a batch and by the id of a body", async () => {
    const outbox = createOutbox(home);
    for (const each of [batch(50, 50), batch(60, 20), batch(70, 70)]) await outbox.append(each);
    assert.equal(await deleteSentBefore(home, 30), 2);
    assert.deepEqual(await seqs(), [3]);
    const body = { ...item(80), kind: "body" as const, requestIds: [uuidV7(75, new Uint8Array(10))] };
    await outbox.append(body);
    assert.equal(await deleteSentBefore(home, 72), 1);
    assert.deepEqual(await seqs(), [4]);
    assert.equal(await deleteSentBefore(home, 76), 1);
    assert.deepEqual(files(), []);
    await outbox.append(batch(90, 90));
    assert.deepEqual(await outbox.verify(), { ok: true, entries: 1, firstSeq: 1, lastSeq: 1 });
  });

  it("reads no time in a text, and deletes an entry that can't be read", async () => {
    const outbox = createOutbox(home);
    await outbox.append(batch(50, 50, '"requested_at":"1970-01-01T00:00:00.001Z"'));
    assert.equal(await deleteSentBefore(home, 30), 0);
    appendFileSync(path("outbox-000001.jsonl"), "no entry\n");
    assert.equal(await deleteSentBefore(home, 30), 2);
    assert.equal(await deleteSentBefore(join(home, "without-an-outbox"), 30), 0);
  });
});
