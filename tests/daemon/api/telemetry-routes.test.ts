import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { createZlibDecoder } from "../../../adapters/content-decoder/zlib.ts";
import { sha256Hex } from "../../../adapters/crypto/node-crypto.ts";
import { createRedact } from "../../../core/privacy/redaction/redact.ts";
import {
  MAX_DECODED_TELEMETRY_BYTES,
  MAX_TELEMETRY_BYTES,
  type TelemetryPorts,
} from "../../../daemon/api/telemetry-routes.ts";
import { AT, encodeOtlp, logsRequest } from "../../core/metering/client-reports/otlp.rig.ts";
import { type ApiRig, openApi } from "./api.rig.ts";

const sample = (values: Record<string, string | number> = {}) =>
  logsRequest("claude-code", {
    event: "claude_code.api_request",
    values: {
      "session.id": "s-1",
      model: "claude-sonnet-4-5",
      input_tokens: 10,
      output_tokens: 20,
      ...values,
    },
  });

const JSON_TYPE = { "content-type": "application/json" };
const PROTOBUF_TYPE = { "content-type": "application/x-protobuf" };

async function withReceiver(
  work: (api: ApiRig) => Promise<void>,
  isOn = true,
  onRefused: (reason: string) => void = () => {},
): Promise<void> {
  const telemetry: { -readonly [Name in keyof TelemetryPorts]: TelemetryPorts[Name] } = {
    reports: { save: () => {} },
    ...{ createDecoder: createZlibDecoder, redact: createRedact([]), sha256Hex, now: () => AT, onRefused },
  };
  const api = await openApi(isOn ? { telemetry } : {});
  telemetry.reports = api.store.clientReports;
  try {
    await work(api);
  } finally {
    api.close();
  }
}

type Body = string | Uint8Array<ArrayBuffer>;

const post = (api: ApiRig, body: Body, headers: Record<string, string> = JSON_TYPE, path = "/otlp/v1/logs") =>
  api.ask(path, { method: "POST", body, headers });

const stored = ({ store }: ApiRig) => store.clientReports.read({ from: null, to: null });

describe("POST /otlp/v1/logs", () => {
  it("stores what a client states, as JSON and as protobuf, and once if it is sent again", () =>
    withReceiver(async (api) => {
      const json = await post(api, JSON.stringify(sample()));
      assert.deepEqual([json.status, await json.json()], [200, {}]);
      const protobuf = Uint8Array.from(encodeOtlp("logs", sample()));
      const again = await post(api, protobuf, PROTOBUF_TYPE);
      assert.deepEqual(
        [again.status, again.headers.get("content-type"), (await again.arrayBuffer()).byteLength],
        [200, "application/x-protobuf", 0],
      );
      assert.deepEqual(
        stored(api).map(({ session, tokens }) => [session, tokens.promptTokens, tokens.completionTokens]),
        [["s-1", 10, 20]],
      );
    }));

  it("reads JSON of any signal at the path without one, and no protobuf", () =>
    withReceiver(async (api) => {
      assert.equal((await post(api, JSON.stringify(sample()), JSON_TYPE, "/otlp")).status, 200);
      assert.equal(stored(api).length, 1);
      assert.equal((await post(api, Uint8Array.of(), PROTOBUF_TYPE, "/otlp")).status, 400);
    }));

  it("states why it refused a payload", () => {
    const reasons: string[] = [];
    return withReceiver(
      async (api) => {
        await post(api, "{");
        await post(api, "{}", { "content-type": "text/plain" });
        await post(api, "{}");
        assert.deepEqual(reasons, [
          "The payload is not valid JSON.",
          "The payload must be application/json or application/x-protobuf.",
        ]);
      },
      true,
      (reason) => reasons.push(reason),
    );
  });

  it("reads gzip", () =>
    withReceiver(async (api) => {
      const zipped = Uint8Array.from(gzipSync(JSON.stringify(sample())));
      const answer = await post(api, zipped, { ...JSON_TYPE, "content-encoding": "gzip" });
      assert.deepEqual([answer.status, stored(api).length], [200, 1]);
    }));

  it("refuses what it can't read, and says why without quoting it", () =>
    withReceiver(async (api) => {
      const gzip = { ...JSON_TYPE, "content-encoding": "gzip" };
      const cut = Uint8Array.from(gzipSync(JSON.stringify(sample())).subarray(0, 40));
      const bomb = Uint8Array.from(gzipSync(Buffer.alloc(MAX_DECODED_TELEMETRY_BYTES + 1, 32)));
      const cases: readonly [body: Body, headers: Record<string, string>, status: number, detail: RegExp][] =
        [
          ["{secret", JSON_TYPE, 400, /^The payload is not valid JSON\.$/],
          ["[]", JSON_TYPE, 400, /not a JSON object/],
          ["", JSON_TYPE, 400, /not valid JSON/],
          [Uint8Array.of(0xff, 0xfe), JSON_TYPE, 400, /not valid JSON/],
          [Uint8Array.of(0x0a, 0x7f), PROTOBUF_TYPE, 400, /not a valid protobuf message: a value is longer/],
          ["text", gzip, 400, /not valid gzip/],
          [cut, gzip, 400, /not valid gzip/],
          ["", gzip, 400, /not valid JSON|not valid gzip/],
          [bomb, gzip, 413, /after decompression/],
          ["{}", { ...JSON_TYPE, "content-encoding": "br" }, 400, /must be gzip or absent/],
          ["{}", { "content-type": "text/plain" }, 415, /application\/x-protobuf/],
          [" ".repeat(MAX_TELEMETRY_BYTES + 1), JSON_TYPE, 413, /larger than 4194304 bytes/],
        ];
      for (const [body, headers, status, detail] of cases) {
        const answer = await post(api, body, headers);
        const { detail: found } = (await answer.json()) as { detail: string };
        assert.equal(answer.status, status, found);
        assert.match(found, detail);
      }
      assert.deepEqual(stored(api), []);
    }));

  it("stores no text of a prompt, and no secret in a name", () =>
    withReceiver(async (api) => {
      const key = `sk-ant-api03-${"a1B2".repeat(23)}AA`;
      await post(api, JSON.stringify(sample({ prompt: "buy the moon", model: key, "session.id": key })));
      const text = JSON.stringify(stored(api), (_, value) =>
        typeof value === "bigint" ? `${value}` : value,
      );
      assert.equal(stored(api).length, 1);
      assert.ok(!text.includes("moon") && !text.includes("sk-ant"), text);
      assert.deepEqual([stored(api)[0]?.model, stored(api)[0]?.session], ["unknown", null]);
    }));

  it("does not exist unless it is switched on", () =>
    withReceiver(async (api) => {
      for (const signal of ["logs", "metrics", "traces"])
        assert.equal((await post(api, "{}", JSON_TYPE, `/otlp/v1/${signal}`)).status, 404);
    }, false));

  it("answers only to POST", () =>
    withReceiver(async (api) => {
      assert.equal((await api.ask("/otlp/v1/logs")).status, 404);
      assert.equal((await post(api, "{}", JSON_TYPE, "/otlp/v1/profiles")).status, 401);
    }));
});
