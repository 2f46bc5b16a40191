import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type BodyPolicy, mayUpload } from "../../../../core/delivery/uploader/body-policy.ts";
import {
  clampUploadCap,
  fitBody,
  truncateUtf8,
  UPLOAD_CAP_DEFAULT_BYTES,
  UPLOAD_CAP_MAX_BYTES,
} from "../../../../core/delivery/uploader/upload-cap.ts";
import { parseUploadFrom, resolveUploadFrom } from "../../../../core/delivery/uploader/upload-from.ts";
import type { BodyRef } from "../../../../core/ports/sync-store.ts";
import { bodyRef, policy } from "./uploader.rig.ts";

const encoder = new TextEncoder();
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

describe("truncateUtf8()", () => {
  const rows: readonly [text: string, maxBytes: number, expected: string][] = [
    ["abc", 3, "abc"],
    ["abc", 4, "abc"],
    ["abc", 2, "ab"],
    ["abc", 0, ""],
    ["abc", -1, ""],
    ["", 0, ""],
    ["é", 1, ""],
    ["aé", 2, "a"],
    ["aé", 3, "aé"],
    ["€", 2, ""],
    ["a€", 3, "a"],
    ["🙂", 3, ""],
    ["🙂🙂", 4, "🙂"],
    ["🙂🙂", 7, "🙂"],
    ["a\u0000b", 2, "a\u0000"],
  ];
  for (const [text, maxBytes, expected] of rows) {
    it(`truncates ${JSON.stringify(text)} at ${maxBytes} to ${JSON.stringify(expected)}`, () => {
      assert.equal(strict.decode(truncateUtf8(encoder.encode(text), maxBytes)), expected);
    });
  }

  it("terminates for bytes that are not text", () => {
    assert.equal(truncateUtf8(new Uint8Array(9).fill(0x80), 5).length, 0);
  });

  // Planted: cut exactly at the cap. Planted: `end--` once, not in a loop.
  it("returns the longest prefix that fits and is valid UTF-8", () => {
    const text = fc.string({
      unit: fc.constantFrom("a", "é", "€", "🙂", "\u0000"),
      maxLength: 12,
      size: "max",
    });
    fc.assert(
      fc.property(text, fc.nat(40), (whole, maxBytes) => {
        const bytes = encoder.encode(whole);
        const cut = truncateUtf8(bytes, maxBytes);
        assert.ok(cut.length <= maxBytes);
        const kept = strict.decode(cut);
        assert.ok(whole.startsWith(kept));
        const next = [...whole.slice(kept.length)][0];
        if (next !== undefined) assert.ok(cut.length + encoder.encode(next).length > maxBytes);
      }),
      { numRuns: 500 },
    );
  });
});

describe("fitBody()", () => {
  it("truncates a body that is too large, and keeps its original size", () => {
    const utf8 = encoder.encode("héllo");
    assert.deepEqual(fitBody({ utf8, truncated: false, originalSizeBytes: 900 }, 2), {
      utf8: encoder.encode("h"),
      truncated: true,
      originalSizeBytes: 900,
    });
  });

  it("does not change a body that fits, and keeps an earlier truncation mark", () => {
    const utf8 = encoder.encode("hi");
    for (const truncated of [true, false]) {
      const body = { utf8, truncated, originalSizeBytes: 2 };
      assert.deepEqual(fitBody(body, 2), body);
    }
  });
});

describe("clampUploadCap()", () => {
  const rows: readonly [configured: number, expected: number][] = [
    [524_288, 524_288],
    [1, 1],
    [1.9, 1],
    [0, UPLOAD_CAP_DEFAULT_BYTES],
    [-5, UPLOAD_CAP_DEFAULT_BYTES],
    [Number.NaN, UPLOAD_CAP_DEFAULT_BYTES],
    [9e9, UPLOAD_CAP_MAX_BYTES],
    [Number.POSITIVE_INFINITY, UPLOAD_CAP_MAX_BYTES],
  ];
  for (const [configured, expected] of rows) {
    it(`clamps ${configured} to ${expected}`, () => assert.equal(clampUploadCap(configured), expected));
  }

  it("keeps the envelope in Base64 below the route's 2 MiB", () => {
    assert.ok(Math.ceil(UPLOAD_CAP_MAX_BYTES / 3) * 4 < 2 * 1_048_576 - 4_096);
    assert.equal(UPLOAD_CAP_DEFAULT_BYTES, 1_048_576);
    assert.equal(UPLOAD_CAP_MAX_BYTES, Math.floor(1.4 * 1_048_576));
  });
});

describe("parseUploadFrom()", () => {
  const instant = Date.UTC(2026, 2, 1);
  const rows: readonly [value: string, expected: string | number][] = [
    ["now", "now"],
    [" NOW ", "now"],
    ["none", "none"],
    ["2026-03-01", instant],
    ["2026-03-01T00:00", instant],
    ["2026-03-01T00:00:00", instant],
    ["2026-03-01 00:00:00", instant],
    ["2026-03-01T00:00:00Z", instant],
    ["2026-03-01t00:00:00z", instant],
    ["2026-03-01T00:00:00.000Z", instant],
    ["2026-03-01T00:00:00,0000001Z", instant],
    ["2026-03-01T00:00:00.25Z", instant + 250],
    ["2026-03-01T01:30:00+01:30", instant],
    ["2026-02-28T19:00:00-0500", instant],
    ["2026-02-28T19-05", "malformed"],
    ["2026-03-01T23:00+23:00", instant],
    ["on 2026-03-01", "malformed"],
    ["2026-02-28T19:00-05", instant],
    ["2024-02-29", Date.UTC(2024, 1, 29)],
    ["0099-01-01", new Date(0).setUTCFullYear(99, 0, 1)],
    ["2026-02-29", "malformed"],
    ["2026-00-10", "malformed"],
    ["2026-13-10", "malformed"],
    ["2026-03-00", "malformed"],
    ["2026-03-01T24:00", "malformed"],
    ["2026-03-01T00:60", "malformed"],
    ["2026-03-01T00:00:60", "malformed"],
    ["2026-03-01T00:00+24:00", "malformed"],
    ["2026-03-01T00:00+01:60", "malformed"],
    ["2026-3-1", "malformed"],
    ["01.03.2026", "malformed"],
    ["yesterday", "malformed"],
    ["", "malformed"],
  ];
  for (const [value, expected] of rows) {
    it(`reads ${JSON.stringify(value)} as ${expected}`, () => {
      const read = parseUploadFrom(value);
      assert.equal(read.kind === "instant" ? read.at : read.kind, expected);
      if (read.kind === "malformed") assert.match(read.warning, /bodies of all dates are uploaded/);
    });
  }

  // Planted: the offset added instead of subtracted.
  it("reads the output of toISOString(), and any UTC offset", () => {
    const offsetMinutes = fc.integer({ min: -14 * 60, max: 14 * 60 });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), offsetMinutes, (at, offset) => {
        const local = new Date(at + offset * 60_000).toISOString().slice(0, -1);
        const size = Math.abs(offset);
        const two = (value: number) => String(value).padStart(2, "0");
        const zone = `${offset < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
        assert.deepEqual(parseUploadFrom(local + zone), { kind: "instant", at });
      }),
    );
  });
});

describe("resolveUploadFrom()", () => {
  it("returns the saved instant, the configured instant, or no filter", () => {
    assert.equal(resolveUploadFrom({ kind: "now" }, 5), 5);
    assert.equal(resolveUploadFrom({ kind: "instant", at: 7 }, 5), 7);
    assert.equal(resolveUploadFrom({ kind: "none" }, 5), null);
    assert.equal(resolveUploadFrom({ kind: "malformed", warning: "" }, 5), null);
  });
});

describe("mayUpload()", () => {
  const rows: readonly [
    name: string,
    changes: Partial<BodyRef>,
    rule: Partial<BodyPolicy>,
    expected: boolean,
  ][] = [
    ["no rule", {}, {}, true],
    ["project switched off", {}, { perProject: { p: false } }, false],
    ["project switched on", {}, { perProject: { p: true } }, true],
    ["another project switched off", {}, { perProject: { q: false } }, true],
    ["a project called like a method of every object", { project: "constructor" }, {}, true],
    ["captured before the watermark", { capturedAt: 9 }, { uploadFrom: 10 }, false],
    ["captured at the watermark", { capturedAt: 10 }, { uploadFrom: 10 }, true],
  ];
  for (const [name, changes, rule, expected] of rows) {
    it(`returns ${expected} for ${name}`, () => {
      assert.equal(mayUpload(bodyRef("a", changes), { ...policy, ...rule }), expected);
    });
  }
});
