import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { OTLP_REQUESTS, type OtlpSignal } from "../../../../core/metering/client-reports/otlp-shapes.ts";
import { decodeProtobuf, ProtobufError } from "../../../../core/metering/client-reports/protobuf-fields.ts";
import { encodeOtlp, logsRequest, metricsRequest, tracesRequest } from "./otlp.rig.ts";

const fromHex = (hex: string) => Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));

describe("decodeProtobuf()", () => {
  it("decodes bytes that were written by hand after the .proto files", () => {
    // resource_logs { scope_logs { log_records { time_unix_nano: 1, body: "hi", attributes: { "n": -1 } } } }
    const attribute = "32100a016e120b18ffffffffffffffffff01";
    const record = `0901000000000000002a040a026869${attribute}`;
    const length = (hex: string) => (hex.length / 2).toString(16).padStart(2, "0");
    const wrap = (tag: string, hex: string) => `${tag}${length(hex)}${hex}`;
    const bytes = fromHex(wrap("0a", wrap("12", wrap("12", record))));
    assert.deepEqual(decodeProtobuf(bytes, OTLP_REQUESTS.logs), {
      resourceLogs: [
        {
          scopeLogs: [
            {
              logRecords: [
                {
                  timeUnixNano: "1",
                  body: { stringValue: "hi" },
                  attributes: [{ key: "n", value: { intValue: "-1" } }],
                },
              ],
            },
          ],
        },
      ],
    });
  });

  const samples: readonly [OtlpSignal, unknown][] = [
    [
      "logs",
      logsRequest("claude-code", { event: "a", values: { text: "é", count: 5, cost: 0.5, on: true } }),
    ],
    ["metrics", metricsRequest(1, { name: "m", points: [{ value: 1.5, values: { type: "input" } }] })],
    ["traces", tracesRequest("copilot", { id: "00f067aa0ba902b7", values: { n: 2 ** 53 - 1 } })],
  ];
  for (const [signal, request] of samples)
    it(`decodes ${signal} to what JSON would be parsed to`, () => {
      const decoded = decodeProtobuf(encodeOtlp(signal, request), OTLP_REQUESTS[signal]);
      assert.deepEqual(
        JSON.parse(JSON.stringify(decoded)),
        JSON.parse(JSON.stringify(request), (name, value) =>
          name === "aggregationTemporality" ? String(value) : value,
        ),
      );
    });

  it("skips fields that it does not know", () => {
    const known = encodeOtlp("logs", logsRequest("x", { event: "e", values: {} }));
    const unknown = fromHex("a80601a10601020304050607089a0603616263ad0601020304");
    assert.deepEqual(
      decodeProtobuf(Uint8Array.from([...unknown, ...known, ...unknown]), OTLP_REQUESTS.logs),
      decodeProtobuf(known, OTLP_REQUESTS.logs),
    );
  });

  it("rejects bytes that are not a message", () => {
    const invalid = [
      "0a",
      "0aff",
      "0a05",
      "0affffffffffffffffffff01",
      "0b",
      "00",
      "ffffffffffffffffffffff",
      "0901",
      "0a0809000000000000001000",
    ];
    for (const hex of invalid)
      assert.throws(() => decodeProtobuf(fromHex(hex), OTLP_REQUESTS.logs), ProtobufError, hex);
  });

  it("rejects so many values that they would need much memory or time", () => {
    const flags = (count: number) => new Uint8Array(2 * count).map((_, at) => (at % 2 === 0 ? 0x08 : 1));
    const shape = new Map([[1, { name: "on", kind: "flag" as const }]]);
    assert.deepEqual(decodeProtobuf(flags(2_000_000), shape), { on: true });
    assert.throws(() => decodeProtobuf(flags(2_000_001), shape), /too many values/);
    assert.throws(() => decodeProtobuf(flags(2_000_001), new Map()), /too many values/);
  });

  it("skips bytes that are too long to be an id", () => {
    const shape = new Map([[1, { name: "id", kind: "bytes" as const }]]);
    const id = (length: number) => Uint8Array.from([0x0a, length, ...new Uint8Array(length).fill(0xab)]);
    assert.deepEqual(decodeProtobuf(id(32), shape), { id: "ab".repeat(32) });
    assert.deepEqual(decodeProtobuf(id(33), shape), {});
  });

  it("returns an object or throws a ProtobufError for any bytes", () => {
    const signals = fc.constantFrom<OtlpSignal>("logs", "metrics", "traces");
    const mutated = fc
      .tuple(fc.constantFrom(...samples), fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 6 }))
      .map(([[signal, request], changes]) => {
        const bytes = encodeOtlp(signal, request);
        for (const [at, value] of changes) bytes[at % bytes.length] = value;
        return [signal, bytes] as const;
      });
    fc.assert(
      fc.property(
        fc.oneof(fc.tuple(signals, fc.uint8Array({ maxLength: 64 })), mutated),
        ([signal, bytes]) => {
          try {
            assert.equal(typeof decodeProtobuf(bytes, OTLP_REQUESTS[signal]), "object");
          } catch (error) {
            assert.ok(error instanceof ProtobufError);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});
