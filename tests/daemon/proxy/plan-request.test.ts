import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RequestHead } from "../../../core/metering/exchange/head.ts";
import { createMessageReader } from "../../../core/metering/exchange/message-reader.ts";
import { isRefusal, planRequest } from "../../../daemon/proxy/plan-request.ts";

function readHead(text: string): { head: RequestHead; raw: Uint8Array } {
  let found: { head: RequestHead; raw: Uint8Array } | null = null;
  const reader = createMessageReader("request", {
    head(head, raw) {
      found = { head, raw: raw.slice() };
    },
    end() {},
    unreadable(reason) {
      throw new Error(reason);
    },
  });
  reader.push(Buffer.from(text, "latin1"));
  if (found === null) throw new Error("no head");
  return found;
}

const options = {
  gatewayRoutes: [],
  gatewayHosts: new Set<string>(),
  proxyUser: null,
  takesProxyCredentials: false,
};

function written(text: string): string {
  const { head, raw } = readHead(text);
  const plan = planRequest(head, options);
  if (isRefusal(plan)) return `${plan.status}`;
  return Buffer.from(plan.upstreamHead(raw)).toString("latin1");
}

describe("planRequest() for absolute form", () => {
  const rows: readonly (readonly [given: string, expected: string])[] = [
    ["GET http://h.test/ HTTP/1.1\r\nHost: h.test\r\n\r\n", "GET / HTTP/1.1\r\nHost: h.test\r\n\r\n"],
    ["GET http://h.test HTTP/1.1\r\nHost: h.test\r\n\r\n", "GET / HTTP/1.1\r\nHost: h.test\r\n\r\n"],
    ["GET http://h.test?q HTTP/1.1\r\nHost: h.test\r\n\r\n", "GET /?q HTTP/1.1\r\nHost: h.test\r\n\r\n"],
    ["OPTIONS http://h.test HTTP/1.1\r\nHost: h.test\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: h.test\r\n\r\n"],
    [
      "GET HTTP://H.test:80/a//b?c=http://d HTTP/1.1\r\nHost: h.test\r\n\r\n",
      "GET /a//b?c=http://d HTTP/1.1\r\nHost: h.test\r\n\r\n",
    ],
    ["GET http://h.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n", "GET / HTTP/1.1\r\nHost: h.test\r\n\r\n"],
    ["GET http://h.test:81/ HTTP/1.1\r\nHost: h.test\r\n\r\n", "GET / HTTP/1.1\r\nHost: h.test:81\r\n\r\n"],
    ["GET http://h.test/ HTTP/1.0\r\nA: b\r\n\r\n", "GET / HTTP/1.0\r\nA: b\r\n\r\n"],
    ["GET http://h.test/#f HTTP/1.1\r\nHost: h.test\r\n\r\n", "400"],
    ["GET http:///x HTTP/1.1\r\nHost: h.test\r\n\r\n", "400"],
    ["GET ftp://h.test/ HTTP/1.1\r\nHost: h.test\r\n\r\n", "400"],
    ["GET * HTTP/1.1\r\nHost: h.test\r\n\r\n", "400"],
    ["GET h.test:80 HTTP/1.1\r\nHost: h.test\r\n\r\n", "400"],
  ];
  for (const [given, expected] of rows) {
    it(`writes ${JSON.stringify(given.split("\r\n", 2).join(" | "))} as ${JSON.stringify(expected.split("\r\n", 2).join(" | "))}`, () => {
      assert.equal(written(given), expected);
    });
  }
});
