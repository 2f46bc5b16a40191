import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import fc from "fast-check";
import { readTapBatch, readTapEntry, type TapBatch } from "../../../daemon/proxy/tap-batch.ts";
import type { TapFrame } from "../../../daemon/proxy/tap-frames.ts";
import {
  createTapLog,
  type LoggedConnection,
  type TapLog,
  type TapMemory,
} from "../../../daemon/proxy/tap-log.ts";

const logs: TapLog[] = [];
// Their timers would keep this process alive.
after(() => {
  for (const log of logs) log.flush();
});

function openLog(maxBacklogBytes = 1e9, flushMs = 1_000_000, memory?: TapMemory) {
  const batches: TapBatch[] = [];
  const acknowledged = new Int32Array(new SharedArrayBuffer(8));
  let lost = 0;
  const log = createTapLog({
    post: (batch) => void batches.push(batch),
    acknowledged,
    maxBacklogBytes,
    flushMs,
    memory,
    onLost: () => {
      lost += 1;
    },
  });
  logs.push(log);
  return {
    log,
    batches,
    acknowledged,
    lost: () => lost,
    frames(): TapFrame[] {
      log.flush();
      return batches.flatMap(readTapBatch);
    },
  };
}

/** Memory of a process's log, with what was written. */
function createMemory() {
  const entries: Uint8Array<ArrayBuffer>[] = [];
  const read = [0, 0];
  let [announced, checks, hasRoom] = [0, 0, true];
  const memory: TapMemory = {
    write(entry) {
      if (hasRoom) entries.push(Uint8Array.from(entry));
      return hasRoom;
    },
    announce: () => void (announced += 1),
    readProgress: (counts) => counts.set(read),
    checkReader: () => void (checks += 1),
  };
  return {
    memory,
    announced: () => announced,
    checks: () => checks,
    frames: () => entries.flatMap((entry) => readTapEntry(entry).frames),
    setRoom: (has: boolean) => void (hasRoom = has),
    acknowledge: (bytes: number, announcements: number) =>
      void read.splice(0, 2, (read[0] ?? 0) + bytes, (read[1] ?? 0) + announcements),
  };
}

const connection = (id: number): LoggedConnection => ({ id, lastAtMs: 0, lost: false });

type Step =
  | { kind: "data"; connection: number; direction: "request" | "response"; size: number }
  | { kind: "ended"; connection: number; direction: "request" | "response" }
  | { kind: "note"; connection: number }
  | { kind: "flush" };

const direction = fc.constantFrom("request" as const, "response" as const);
const size = fc.oneof(fc.nat(3), fc.nat(400), fc.integer({ min: 65_000, max: 66_000 }), fc.nat(200_000));
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("data" as const),
      connection: fc.integer({ min: 1, max: 3 }),
      direction,
      size,
    }),
  },
  fc.record({ kind: fc.constant("ended" as const), connection: fc.integer({ min: 1, max: 3 }), direction }),
  fc.record({ kind: fc.constant("note" as const), connection: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ kind: fc.constant("flush" as const) }),
);

/** Formats frames, with consecutive data of one connection and direction joined. */
function summary(frames: readonly TapFrame[]): string[] {
  const out: string[] = [];
  let openKey = "";
  for (const frame of frames) {
    const key = `${frame.kind} ${frame.connection} ${"direction" in frame ? frame.direction : ""}`;
    const hex = frame.kind === "data" ? Buffer.from(frame.bytes).toString("hex") : "";
    if (frame.kind === "data" && key === openKey) out.push(`${out.pop()}${hex}`);
    else out.push(`${key} ${hex}`);
    openKey = frame.kind === "data" ? key : "";
  }
  return out;
}

describe("createTapLog()", () => {
  // Planted bug that this found: a chunk's second piece copied from the chunk's start.
  it("returns the frames in order through readTapBatch(), across batches", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), fc.boolean(), (steps, isProcess) => {
        const shared = isProcess ? createMemory() : undefined;
        const opened = openLog(1e9, 1_000_000, shared?.memory);
        const { log } = opened;
        const frames = () => {
          const posted = opened.frames();
          assert.ok(shared === undefined || posted.length === 0);
          return shared?.frames() ?? posted;
        };
        const connections = [1, 2, 3].map(connection);
        const expected: TapFrame[] = [];
        for (const [index, each] of steps.entries()) {
          if (each.kind === "flush") log.flush();
          else if (each.kind === "note") {
            const frame: TapFrame = { kind: "labelled", connection: each.connection, project: "x" };
            log.note(frame);
            expected.push(frame);
          } else if (each.kind === "ended") {
            log.ended(connections[each.connection - 1] as LoggedConnection, each.direction);
            expected.push({ ...each, atMs: 0 });
          } else if (each.size > 0) {
            const bytes = new Uint8Array(each.size);
            for (let at = 0; at < each.size; at += 1) bytes[at] = at * 7 + index;
            log.data(connections[each.connection - 1] as LoggedConnection, each.direction, bytes);
            expected.push({
              kind: "data",
              connection: each.connection,
              direction: each.direction,
              bytes,
              atMs: 0,
            });
          }
        }
        assert.deepEqual(summary(frames()), summary(expected));
      }),
      { numRuns: 150 },
    );
  });

  it("posts a small batch in a buffer of its size, and takes back the buffer of a large one", () => {
    const { log, batches, frames } = openLog();
    log.data(connection(1), "request", Uint8Array.of(1, 2, 3));
    log.flush();
    log.data(connection(1), "response", new Uint8Array(100_000).fill(7));
    const [small, large] = [frames()[0], batches[1]];
    assert.ok(small?.kind === "data" && large !== undefined);
    assert.deepEqual([...small.bytes], [1, 2, 3]);
    assert.ok(small.bytes.buffer.byteLength < 100);
    assert.deepEqual(
      batches.map(({ isReusable }) => isReusable),
      [false, true],
    );
    log.reuse(large.buffer);
    log.data(connection(1), "response", new Uint8Array(100_000));
    log.flush();
    log.data(connection(1), "response", new Uint8Array(100_000));
    log.flush();
    assert.equal(batches[3]?.buffer, large.buffer);
  });

  it("keeps no reference to the bytes it was given", () => {
    const { log, frames } = openLog();
    const bytes = Uint8Array.of(1, 2, 3);
    log.data(connection(1), "request", bytes);
    bytes.fill(9);
    const [frame] = frames();
    assert.ok(frame?.kind === "data");
    assert.deepEqual([...frame.bytes], [1, 2, 3]);
  });

  it("limits many tiny frames to the buffer's space for records", () => {
    const { log, frames } = openLog();
    const one = connection(1);
    for (let index = 0; index < 5_000; index += 1) log.data(one, "response", Uint8Array.of(index % 251));
    const bytes = frames().flatMap((frame) => (frame.kind === "data" ? [...frame.bytes] : []));
    assert.equal(bytes.length, 5_000);
    assert.ok(bytes.every((byte, index) => byte === index % 251));
  });

  it("drops data beyond the backlog and reports each connection once", () => {
    const { log, acknowledged, batches, frames, lost } = openLog(100_000);
    const [one, two] = [connection(1), connection(2)];
    const chunk = new Uint8Array(60_000);
    log.data(one, "response", chunk);
    log.data(one, "response", chunk);
    log.data(one, "response", chunk);
    log.data(one, "response", chunk);
    log.ended(one, "response");
    log.note({ kind: "closed", connection: 1, atMs: 0, reason: "clean", code: null });
    assert.equal(lost(), 1);
    log.flush();
    // The reader catches up: other connections are logged again, this one is not.
    for (const batch of batches) Atomics.add(acknowledged, 0, batch.memoryBytes);
    log.data(one, "response", chunk);
    log.data(two, "response", chunk);
    assert.deepEqual(
      frames().flatMap((frame) =>
        frame.kind === "data" && frame.connection === 1 ? [] : [`${frame.kind} ${frame.connection}`],
      ),
      ["lost 1", "closed 1", "data 2"],
    );
  });

  it("counts its backlog over the wrap of the shared counter", () => {
    const { log, acknowledged, batches } = openLog(200_000);
    const one = connection(1);
    const chunk = new Uint8Array(65_536);
    let sent = 0;
    for (let turn = 0; turn < 70_000 && !one.lost; turn += 1) {
      log.data(one, "request", chunk);
      for (const batch of batches.splice(0)) {
        sent += batch.memoryBytes;
        Atomics.add(acknowledged, 0, batch.memoryBytes);
        Atomics.add(acknowledged, 1, 1);
        log.reuse(batch.buffer);
      }
    }
    assert.ok(sent > 2 ** 32);
    assert.equal(one.lost, false);
  });
});

describe("createTapLog() of a process", () => {
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const kinds = (frames: readonly TapFrame[]) => frames.map(({ kind, connection: id }) => `${kind} ${id}`);

  it("writes the bytes of a response and its end at once, with all frames before them", () => {
    const { memory, frames } = createMemory();
    const { log } = openLog(1e9, 1_000_000, memory);
    const [one, two] = [connection(1), connection(2)];
    log.note({ kind: "labelled", connection: 1, project: "p" });
    log.data(one, "request", Uint8Array.of(1));
    assert.deepEqual(frames(), []);
    log.data(two, "response", Uint8Array.of(2, 3));
    assert.deepEqual(kinds(frames()), ["labelled 1", "data 1", "data 2"]);
    const [, , data] = frames();
    assert.ok(data?.kind === "data");
    assert.deepEqual([...data.bytes], [2, 3]);
    log.ended(two, "response");
    assert.deepEqual(kinds(frames()), ["labelled 1", "data 1", "data 2", "ended 2"]);
  });

  it("announces what it wrote as a log of a thread is posted: together, and not while the reader is behind", async () => {
    const { memory, announced, acknowledge } = createMemory();
    const { log } = openLog(1e9, 1, memory);
    const open = connection(1);
    log.data(open, "response", Uint8Array.of(1));
    log.data(open, "response", Uint8Array.of(2));
    assert.equal(announced(), 0);
    await turn();
    assert.equal(announced(), 1);
    for (let each = 0; each < 40; each += 1) {
      log.data(open, "response", Uint8Array.of(each));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    assert.equal(announced(), 5);
    acknowledge(0, 5);
    while (announced() === 5) await new Promise((resolve) => setTimeout(resolve, 1));
    log.flush();
    assert.equal(announced(), 6, "everything was announced");
  });

  it("posts a copy while the memory has no room, after what it wrote before", () => {
    const { memory, frames, announced, setRoom } = createMemory();
    const { log, batches } = openLog(1e9, 1_000_000, memory);
    const [one, bytes] = [connection(1), Uint8Array.from({ length: 100_000 }, (_, at) => at * 3)];
    log.data(one, "response", Uint8Array.of(1));
    setRoom(false);
    log.data(one, "response", bytes);
    log.note({ kind: "labelled", connection: 1, project: "p" });
    log.data(one, "response", bytes.subarray(0, 10));
    log.flush();
    assert.equal(announced(), 1);
    assert.equal(frames().length, 1);
    const [batch] = batches;
    assert.equal(batch?.isReusable, false);
    assert.deepEqual(summary(readTapBatch(batch as TapBatch)), [
      `data 1 response ${Buffer.from(bytes).toString("hex")}`,
      "labelled 1  ",
      `data 1 response ${Buffer.from(bytes.subarray(0, 10)).toString("hex")}`,
    ]);
    setRoom(true);
    log.data(one, "response", Uint8Array.of(4));
    assert.equal(frames().length, 2);
  });

  it("drops data beyond the backlog, until the memory says that it was read", () => {
    const { memory, acknowledge } = createMemory();
    const { log, lost } = openLog(100_000, 1_000_000, memory);
    const chunk = new Uint8Array(60_000);
    log.data(connection(1), "response", chunk);
    log.data(connection(2), "response", chunk);
    log.data(connection(3), "response", chunk);
    assert.equal(lost(), 1);
    acknowledge(120_000, 0);
    log.data(connection(4), "response", chunk);
    assert.equal(lost(), 1);
  });

  it("checks before each piece of a response that the reader is alive", () => {
    const { memory, checks } = createMemory();
    const { log } = openLog(1e9, 1_000_000, memory);
    log.data(connection(1), "request", Uint8Array.of(1));
    assert.equal(checks(), 0);
    log.data({ ...connection(1), lost: true }, "response", Uint8Array.of(1));
    log.data(connection(1), "response", Uint8Array.of(1));
    assert.equal(checks(), 2);
  });
});

describe("createTapLog() with a stalled reader", () => {
  /** Waits until immediates, and timers of a few milliseconds, have run. */
  const moment = () => new Promise((resolve) => setTimeout(resolve, 1));

  it("sends only full batches, so that the backlog is limited by memory, not by bytes", async () => {
    const { log, batches, acknowledged } = openLog(1e9, 0);
    const open = connection(1);
    for (let each = 0; each < 50; each += 1) {
      log.data(open, "response", Uint8Array.of(each));
      log.note({ kind: "labelled", connection: 1, project: "p" });
      await moment();
    }
    assert.ok(batches.length <= 5, `${batches.length} batches of a few bytes each`);
    for (const { memoryBytes } of batches) Atomics.add(acknowledged, 0, memoryBytes);
    Atomics.add(acknowledged, 1, batches.length);
    await moment();
    await moment();
    assert.equal(batches.flatMap(readTapBatch).length, 100, "nothing is lost, and it follows by itself");
  });

  it("counts whole buffers and notes in its backlog", () => {
    const { log, batches, lost } = openLog(500_000);
    log.data(connection(1), "response", new Uint8Array(40_000));
    log.flush();
    assert.ok((batches[0]?.memoryBytes ?? 0) >= (batches[0]?.buffer.byteLength ?? 0));
    for (let id = 2; id < 500; id += 1) {
      log.note({ kind: "closed", connection: id, atMs: 0, reason: "clean", code: null });
    }
    log.data(connection(500), "response", Uint8Array.of(1));
    assert.equal(lost(), 1);
  });
});

describe("createTapLog() and its timers", () => {
  const bytes = new Uint8Array(10);
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  it("sends the first frames after a pause at the end of their turn, together", async () => {
    const { log, batches } = openLog(1e9, 1);
    log.data(connection(1), "response", bytes);
    log.data(connection(2), "response", bytes);
    assert.equal(batches.length, 0);
    await turn();
    assert.deepEqual(
      batches.map(({ records }) => records),
      [2],
    );
  });

  it("delays frames that follow soon to the next batch, but no notes that start a look-up", async () => {
    const { log, batches } = openLog(1e9, 1_000_000);
    const open = connection(1);
    log.data(open, "request", bytes);
    await turn();
    log.data(open, "response", bytes);
    const target = { host: "a.test", port: 443, clientPort: 1, proxyUser: null };
    log.note({ kind: "opened", connection: 1, atMs: 0, mode: "intercepted", ...target });
    log.note({ kind: "closed", connection: 1, atMs: 0, reason: "clean", code: null });
    await turn();
    await turn();
    assert.equal(batches.length, 1);
    log.note({ kind: "calling", connection: 0, clientPort: 1, proxyUser: null });
    await turn();
    log.note({ kind: "opened", connection: 2, atMs: 0, mode: "gateway", ...target });
    await turn();
    assert.deepEqual(
      batches.map(({ records }) => records),
      [1, 4, 1],
    );
  });
});
