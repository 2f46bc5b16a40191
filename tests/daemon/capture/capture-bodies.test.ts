import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { createRedact } from "../../../core/privacy/redaction/redact.ts";
import type { BodyPorts, CallAttribution } from "../../../daemon/capture/ports.ts";
import type { CapturedBody } from "../../../daemon/store/port/bodies.ts";
import { createCaptureRig, rigStart } from "./capture.rig.ts";

const host = "api.anthropic.com";
const request = '{"model":"claude-haiku-4-5","messages":[{"role":"user","content":"Zürich"}]}';
const answer = '{"id":"msg_01234567890123456789abcd","usage":{"input_tokens":1,"output_tokens":1}}';

interface Options {
  bodies?: Partial<BodyPorts>;
  refused?: boolean;
  request?: string | Uint8Array;
  answer?: string | Uint8Array | null;
  answerHeaders?: string;
}

/** Runs one call of the project `web`. Returns its captured bodies, the counts and the log. */
async function capture(options: Options) {
  const kept: CapturedBody[] = [];
  const logged: object[] = [];
  const attribution: CallAttribution = {
    project: "web",
    tier: "header",
    workdir: null,
    client: null,
    bodyCaptureRefused: options.refused ?? false,
  };
  const silent = () => {};
  const rig = createCaptureRig({
    ports: {
      attribution: () => ({ attribute: async () => attribution }),
      bodies: {
        isEnabledAnywhere: () => true,
        isEnabledFor: (project) => project === "web",
        maxBytes: 524_288,
        redact: createRedact(),
        add: (body) => void kept.push(body),
        ...options.bodies,
      },
      log: {
        debug: silent,
        info: (event, fields) => void logged.push({ event, ...fields }),
        warn: silent,
        error: silent,
      },
    },
  });
  const connection = rig.connect(host);
  const asked = Buffer.from((options.request ?? request) as string);
  connection.pass(
    "request",
    Buffer.concat([
      Buffer.from(
        `POST /v1/messages HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: ${asked.length}\r\n\r\n`,
      ),
      asked,
    ]),
  );
  if (options.answer !== null) {
    const body = Buffer.from((options.answer ?? answer) as string);
    const head = `HTTP/1.1 200 OK\r\n${options.answerHeaders ?? ""}Content-Length: ${body.length}\r\n\r\n`;
    connection.pass("response", Buffer.concat([Buffer.from(head), body]));
  }
  connection.close();
  await rig.capture.settled();
  assert.equal(rig.records.length, 1, "the record does not depend on its bodies");
  return { kept, logged, counts: rig.counts, requestId: rig.records[0]!.requestId };
}

const textOf = (body: CapturedBody | undefined) => new TextDecoder().decode(body?.content);

describe("captured bodies", () => {
  it("are stored decoded, in both directions, unchanged if they contain no secret", async () => {
    const { kept, requestId } = await capture({
      answer: gzipSync(answer),
      answerHeaders: "Content-Encoding: gzip\r\n",
    });
    const common = {
      requestId,
      capturedAt: rigStart,
      truncated: false,
      redactionApplied: false,
      redactionSummary: [],
    };
    const content = (text: string) => new TextEncoder().encode(text);
    assert.deepEqual(kept, [
      {
        ...common,
        direction: "request",
        contentType: "application/json",
        originalSizeBytes: Buffer.byteLength(request),
        content: content(request),
      },
      {
        ...common,
        direction: "response",
        contentType: null,
        originalSizeBytes: answer.length,
        content: content(answer),
      },
    ]);
  });

  it("have a content type without parameters", async () => {
    for (const [type, kept] of [
      ["Text/HTML; charset=utf-8; note=dear-diary", "text/html"],
      ["application/problem+json", "application/problem+json"],
      ["dear diary", null],
    ] as const) {
      const { kept: bodies } = await capture({ answerHeaders: `Content-Type: ${type}\r\n` });
      assert.equal(bodies[1]?.contentType, kept);
    }
  });

  it("are redacted, then truncated at a character boundary", async () => {
    const secret = `sk-ant-api03-${"A".repeat(80)}`;
    const text = `{"a":"${secret}","b":"${"ü".repeat(100)}"}`;
    const { kept } = await capture({ request: text, bodies: { maxBytes: 60 } });
    const stored = kept[0]!;
    assert.equal(stored.truncated, true);
    assert.equal(stored.redactionApplied, true);
    assert.ok(stored.redactionSummary.length > 0);
    assert.equal(stored.originalSizeBytes, Buffer.byteLength(text));
    assert.ok(stored.content.length <= 60);
    assert.ok(!textOf(stored).includes("sk-ant-api03"));
    assert.ok(!textOf(stored).includes("\ufffd"));
    assert.match(textOf(stored), /ü$/);
  });

  it("are not stored if no project has capture on", async () => {
    let asked = 0;
    const { kept } = await capture({
      bodies: { isEnabledAnywhere: () => false, isEnabledFor: () => ++asked > 0 },
    });
    assert.deepEqual([kept, asked], [[], 0]);
  });

  it("are not stored for a project that has capture off", async () => {
    assert.deepEqual((await capture({ bodies: { isEnabledFor: () => false } })).kept, []);
  });

  it("are not stored if the project's file refuses, even if capture is on", async () => {
    assert.deepEqual((await capture({ refused: true })).kept, []);
  });

  it("are not stored above the threshold, which logs the specified event", async () => {
    const big = `{"model":"claude-haiku-4-5","pad":"${"x".repeat(4 * 1024 * 1024)}"}`;
    const { kept, logged, counts } = await capture({ request: big });
    assert.deepEqual(
      kept.map(({ direction }) => direction),
      ["response"],
    );
    assert.deepEqual(logged, [
      {
        event: "addon.body_capture.skip",
        reason: "body_too_large",
        size_bytes: big.length,
        gate_bytes: 4_194_304,
      },
    ]);
    assert.equal(counts.body_too_large, 1);
  });

  it("are not stored above the threshold if the response is too large", async () => {
    const big = `"${"x".repeat(4 * 1024 * 1024 - 1)}"`;
    const { kept, logged, counts } = await capture({ answer: big });
    assert.deepEqual(
      kept.map(({ direction }) => direction),
      ["request"],
    );
    assert.deepEqual(logged, [
      {
        event: "addon.body_capture.skip",
        reason: "body_too_large",
        size_bytes: 4_194_305,
        gate_bytes: 4_194_304,
      },
    ]);
    assert.equal(counts.body_too_large, 1);
  });

  it("are stored at exactly the threshold", async () => {
    const most = `"${"x".repeat(4 * 1024 * 1024 - 2)}"`;
    const { kept, counts } = await capture({ request: most, answer: most });
    assert.deepEqual(
      kept.map(({ originalSizeBytes, truncated }) => [originalSizeBytes, truncated]),
      [
        [4_194_304, true],
        [4_194_304, true],
      ],
    );
    assert.equal(counts.body_too_large, undefined);
  });

  it("are counted if they are not UTF-8", async () => {
    const { kept, counts } = await capture({ request: new Uint8Array([0x7b, 0xff, 0x7d]) });
    assert.deepEqual(
      kept.map(({ direction }) => direction),
      ["response"],
    );
    assert.equal(counts.body_not_utf8, 1);
  });

  it("keep a byte order mark", async () => {
    const { kept } = await capture({ request: "\ufeff{}" });
    assert.deepEqual([...kept[0]!.content.slice(0, 3)], [0xef, 0xbb, 0xbf]);
  });

  it("are not stored if they can't be redacted", async () => {
    const { kept, counts } = await capture({
      bodies: { redact: () => ({ ok: false, reason: "too_large" }) as never },
    });
    assert.deepEqual(kept, []);
    assert.equal(counts.body_not_redactable, 2);
  });

  it("are only the request's if there was no response, and none if it was empty", async () => {
    assert.deepEqual(
      (await capture({ answer: null })).kept.map(({ direction }) => direction),
      ["request"],
    );
    assert.deepEqual(
      (await capture({ answer: "" })).kept.map(({ direction }) => direction),
      ["request"],
    );
  });
});
