import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, it } from "node:test";
import fc from "fast-check";
import { sha256 } from "../../../../adapters/crypto/node-crypto.ts";
import {
  createWebhookRequest,
  isWebhookUrl,
  readWebhookSecret,
} from "../../../../core/delivery/webhook/webhook.ts";
import { anyCharacter } from "../../any-character.rig.ts";

const secretOf = (bytes: Uint8Array) => `whsec_${Buffer.from(bytes).toString("base64")}`;

describe("readWebhookSecret()", () => {
  it("reads 24 to 64 bytes in base64", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 24, maxLength: 64 }), (bytes) => {
        assert.equal(readWebhookSecret(secretOf(bytes)), Buffer.from(bytes).toString("hex"));
      }),
    );
  });

  it("refuses other texts", () => {
    const long = Buffer.alloc(30).toString("base64");
    for (const text of [
      "",
      long,
      "whsec_",
      "whsec_abc",
      `whsec_${long}=`,
      `whsec_${long.slice(1)}`,
      secretOf(new Uint8Array(23)),
      secretOf(new Uint8Array(65)),
    ])
      assert.equal(readWebhookSecret(text), null, text);
  });
});

describe("isWebhookUrl()", () => {
  it("accepts https, and http on this machine", () => {
    for (const url of [
      "https://hooks.example.com/a?b=c",
      "https://hooks.example.com",
      "http://127.0.0.1:9000/x",
      "http://localhost",
      "http://[::1]:1/",
    ])
      assert.equal(isWebhookUrl(url), true, url);
    for (const url of [
      "",
      "http://hooks.example.com/",
      "http://127.0.0.1.example.com/",
      "https://user:pass@example.com/",
      "ftp://localhost/",
      "https:///x",
      "https://a b/",
      "https://example.com/#x",
      "https://hooks.example.com:84433/x",
      "https://10.0.0.256/",
      "http://127.0.0.999/",
    ])
      assert.equal(isWebhookUrl(url), false, url);
  });
});

describe("createWebhookRequest()", () => {
  it("is signed as Standard Webhooks says, so that its receivers can verify it", () => {
    const bytes = fc.uint8Array({ minLength: 24, maxLength: 64 });
    fc.assert(
      fc.property(bytes, fc.string({ unit: anyCharacter }), fc.nat(), (secret, text, now) => {
        const event = { type: "record.stored", data: { text }, id: "7", at: 1_000 };
        const secretHex = Buffer.from(secret).toString("hex");
        const { body, headers } = createWebhookRequest(
          { url: "https://hooks.test/", secretHex },
          event,
          now,
          sha256,
        );
        assert.deepEqual(JSON.parse(body ?? ""), {
          type: "record.stored",
          timestamp: "1970-01-01T00:00:01.000Z",
          data: JSON.parse(JSON.stringify({ text })),
        });
        const seconds = String(Math.floor(now / 1_000));
        const signature = createHmac("sha256", secret).update(`msg_7.${seconds}.${body}`).digest("base64");
        assert.deepEqual(headers, {
          "webhook-id": "msg_7",
          "webhook-timestamp": seconds,
          "webhook-signature": `v1,${signature}`,
        });
      }),
    );
  });
});
