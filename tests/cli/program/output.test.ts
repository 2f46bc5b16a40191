import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { main } from "../../../cli/main.ts";
import { printableJson, printableLines } from "../../../cli/render/printable.ts";
import { noon, sampleRecord } from "../../daemon/store/sample-records.rig.ts";
import { createSampleHome, runWords } from "../run-command.rig.ts";

/** Characters that move the cursor, change colours or reverse the text. Line ends are added by each command. */
const steers = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;

const text = fc.string({
  unit: fc.constantFrom("a", "é", "🧮", "\n", "\t", "\u001b", "\u009b", "\u007f", "\u202e", '"', "\\"),
  maxLength: 30,
});

describe("printableLines()", () => {
  it("keeps newlines and tabs, and removes other control characters", () => {
    assert.equal(printableLines("a\tb\n\u001b[2J\u009b1m\r\u202e"), "a\tb\n\ufffd[2J\ufffd1m\ufffd\ufffd");
  });
});

describe("printableJson()", () => {
  // Planted: without the escapes above U+007E, U+009B passes, which some terminals read as ESC [.
  it("escapes control characters without changing the value", () => {
    fc.assert(
      fc.property(fc.dictionary(text, fc.oneof(text, fc.array(text)), { noNullPrototype: true }), (value) => {
        const json = JSON.stringify(value, null, 2);
        const printable = printableJson(json);
        // Not `JSON.parse`: V8's misreads a name that starts with an escape once it has read one with a backslash (nodejs/node#63785).
        const decoded = printable.replace(/\\(?:u([0-9a-f]{4})|.)/g, (written, digits?: string) => {
          const code = Number.parseInt(digits ?? "", 16);
          return code > 0x7e ? String.fromCharCode(code) : written;
        });
        assert.equal(decoded, json);
        assert.ok(!steers.test(printable), printable);
      }),
    );
  });
});

describe("what commands print", () => {
  const evil = "m\u001b]0;x\u0007\u009b31m\u202e";
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  before(async () => {
    const record = sampleRecord({ requestedAt: noon, model: evil, project: evil, client: evil });
    sample = await createSampleHome((store) =>
      store.insertBatch({ records: [record], bodies: [], coverage: [] }),
    );
  });
  after(() => sample?.remove());

  const commands: string[][] = [
    ["report"],
    ["report", "--by", "model", "--json"],
    ["report", "--by", "model", "--csv"],
    ["explain", "last"],
    ["explain", "last", "--json"],
    ["project", "list"],
    ["project", "list", "--json"],
    ["recompute-costs", "--dry-run"],
    ["report", "--by", evil],
    ["report", "--since", evil],
    ["report", `--${evil}`],
    ["report", evil],
    ["explain", evil],
    ["bodies", "show", evil],
    ["project", "reassign", evil, "web"],
    ["pricing", "auto-pull", evil],
    ["cloud", "privacy", "set", "preset", evil],
    ["cloud", "privacy", "set", evil, evil],
    ["cloud", "quarantine", "retry", evil],
    ["cloud", "reconcile", "--from", evil],
    ["prune", "--before", evil],
    ["run", "--", evil],
    [evil],
  ];
  for (const words of commands) {
    it(`contains no control characters: meter ${JSON.stringify(words.join(" "))}`, async () => {
      const { stdout, stderr } = await runWords(sample.home, words);
      assert.ok(stdout + stderr !== "");
      // RFC 4180 ends lines with both.
      assert.ok(!steers.test((stdout + stderr).replaceAll("\r\n", "\n")), JSON.stringify(stdout + stderr));
    });
  }

  it("is as wide as COLUMNS, unless that is invalid", async () => {
    const said = async (COLUMNS: string) =>
      (await runWords(sample.home, ["report", "--by", "model"], { COLUMNS })).stdout;
    const usual = await said("120");
    assert.notEqual(await said("40"), usual);
    for (const nonsense of ["", "0", "-5", "1e9", "wide", "NaN"])
      assert.equal(await said(nonsense), usual, nonsense);
  });
});

describe("output that can't be written", () => {
  const failing = (code: string) =>
    new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })) });
  const report = async (home: string, stdout: Writable, stderr: Writable, words = ["pricing", "list"]) =>
    main(words, { stdout, stderr, env: { METER_HOME: home } });
  const sink = () => {
    let said = "";
    const stream = new Writable({
      write(chunk, _encoding, done) {
        said += String(chunk);
        done();
      },
    });
    return { stream, said: () => said };
  };

  it("makes a command exit with 1 and one line, unless the reader closed the pipe", async () => {
    const { home, remove } = await createSampleHome();
    try {
      const full = sink();
      assert.equal(await report(home, failing("ENOSPC"), full.stream), 1);
      assert.equal(full.said(), "meter: The output can't be written: ENOSPC.\n");
      const left = sink();
      assert.equal(await report(home, failing("EPIPE"), left.stream), 0);
      assert.equal(left.said(), "");
    } finally {
      remove();
    }
  });

  it("ends an export in the same way", async () => {
    const { home, remove } = await createSampleHome((store) => store.records.insert([sampleRecord()]));
    try {
      for (const format of ["jsonl", "csv", "focus"]) {
        const words = ["export", "--format", format];
        const full = sink();
        assert.equal(await report(home, failing("ENOSPC"), full.stream, words), 1);
        assert.equal(full.said(), "meter: The output can't be written: ENOSPC.\n");
        const left = sink();
        assert.equal(await report(home, failing("EPIPE"), left.stream, words), 0);
        assert.equal(left.said(), "");
      }
    } finally {
      remove();
    }
  });

  it("does not fail a command if only its notices can't be written", async () => {
    const { home, remove } = await createSampleHome();
    try {
      for (const code of ["EPIPE", "ENOSPC", "EIO"])
        assert.equal(await report(home, sink().stream, failing(code), ["explain", "nothing"]), 4);
    } finally {
      remove();
    }
  });
});

describe("a home that the system refuses", () => {
  it("is reported without a stack trace", async () => {
    for (const words of [["status"], ["start"], ["report"], ["project", "a", "set", "body-capture", "on"]]) {
      const { code, stderr } = await runWords("/dev/null", words);
      assert.ok(code > 0);
      assert.match(stderr, /^meter: .*\/dev\/null.*\n(?:Check it: meter doctor\n)?$/);
    }
  });
});
