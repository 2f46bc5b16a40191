import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import process from "node:process";
import { PassThrough, Writable } from "node:stream";
import { describe, it } from "node:test";
import { formatFrame, type LiveView, openLiveScreen, readKeys } from "../../../cli/render/live-screen.ts";

const ENTER = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const LEAVE = "\u001b[?7h\u001b[?25h\u001b[?1049l";

/** A terminal in memory. */
function openTerminal() {
  let written = "";
  const raw: boolean[] = [];
  const changed = new EventEmitter();
  const stdout = Object.assign(
    new Writable({
      write(chunk, _encoding, done) {
        written += String(chunk);
        done();
        changed.emit("written");
      },
    }),
    { isTTY: true, columns: 20, rows: 3 },
  );
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (mode: boolean) => void raw.push(mode),
  });
  return {
    stdin,
    stdout,
    raw,
    written: () => written,
    /** Resolves when the text has been written. */
    async shows(text: string) {
      while (!written.includes(text)) await new Promise((resolve) => changed.once("written", resolve));
    },
  };
}

/** A view that names its frame, its size and the last key. */
function countingView(): LiveView & { keys: string[] } {
  let frame = 0;
  const keys: string[] = [];
  return {
    keys,
    intervalMs: 3_600_000,
    draw: ({ columns, rows }) => Promise.resolve(`frame ${++frame} ${columns}x${rows} ${keys.join()}`),
    key: (key) => void keys.push(key),
  };
}

describe("openLiveScreen()", () => {
  it("shows nothing without a terminal", async () => {
    const { stdin } = openTerminal();
    assert.equal(await openLiveScreen({ stdin, stdout: new PassThrough() }, countingView()), false);
  });

  it("draws on the alternate screen until q, and restores the terminal", async () => {
    const terminal = openTerminal();
    const open = openLiveScreen(terminal, countingView());
    await terminal.shows("frame 1 20x3");
    terminal.stdin.write("p");
    await terminal.shows("frame 2 20x3 p");
    terminal.stdout.columns = 40;
    terminal.stdout.emit("resize");
    await terminal.shows("frame 3 40x3 p");
    terminal.stdin.write("q");
    assert.equal(await open, true);
    assert.ok(terminal.written().startsWith(ENTER));
    assert.ok(terminal.written().endsWith(LEAVE));
    assert.deepEqual(terminal.raw, [true, false]);
    assert.equal(terminal.stdout.listenerCount("resize") + terminal.stdin.listenerCount("data"), 0);
  });

  it("ends at Ctrl-C, which a raw terminal sends as a character", async () => {
    const terminal = openTerminal();
    const open = openLiveScreen(terminal, countingView());
    terminal.stdin.write("\u0003");
    assert.equal(await open, true);
    assert.ok(terminal.written().endsWith(LEAVE));
  });

  it("ends at a signal", async () => {
    const terminal = openTerminal();
    const before = process.listenerCount("SIGTERM");
    const open = openLiveScreen(terminal, countingView());
    await terminal.shows("frame 1");
    process.emit("SIGTERM", "SIGTERM");
    assert.equal(await open, true);
    assert.ok(terminal.written().endsWith(LEAVE));
    assert.equal(process.listenerCount("SIGTERM"), before);
  });

  it("restores the terminal if drawing fails", async () => {
    const terminal = openTerminal();
    const failing = { intervalMs: 1, draw: () => Promise.reject(new Error("planned")) };
    await assert.rejects(openLiveScreen(terminal, failing), /planned/);
    assert.ok(terminal.written().endsWith(LEAVE));
    assert.deepEqual(terminal.raw, [true, false]);
  });

  it("writes no frame after the end", async () => {
    const terminal = openTerminal();
    const late = Promise.withResolvers<string>();
    const open = openLiveScreen(terminal, { intervalMs: 1, draw: () => late.promise });
    terminal.stdin.write("q");
    await open;
    late.resolve("late");
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(terminal.written(), ENTER + LEAVE);
  });
});

describe("formatFrame()", () => {
  it("cuts what does not fit, and lets no text control the terminal", () => {
    assert.equal(
      formatFrame("one\n\u001b[2Jtwo\nthree", { columns: 9, rows: 2 }),
      "\u001b[Hone\u001b[K\r\n\ufffd[2Jtwo\u001b[K\u001b[J",
    );
  });
});

describe("readKeys()", () => {
  it("tells letters, arrows and other keys", () => {
    assert.deepEqual(readKeys("ap\u001b[A\u001bOB\u001b[C\u001b[D"), [
      "a",
      "p",
      "up",
      "down",
      "right",
      "left",
    ]);
    assert.deepEqual(readKeys("\u001b"), ["escape"]);
    assert.deepEqual(readKeys("\u001b[5~\u001b[1;5P"), ["\u001b[5~", "\u001b[1;5P"]);
    assert.deepEqual(readKeys("é\u0003"), ["é", "\u0003"]);
  });
});
