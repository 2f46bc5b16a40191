import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  readWebSocketExtensions,
  type WebSocketExtensions,
} from "../../../../core/metering/exchange/websocket-extensions.ts";

const deflate = (clientContextTakeover: boolean, serverContextTakeover: boolean): WebSocketExtensions => ({
  kind: "deflate",
  clientContextTakeover,
  serverContextTakeover,
});

const CASES: readonly [values: readonly string[], agreement: WebSocketExtensions][] = [
  [[], { kind: "plain" }],
  [[""], { kind: "plain" }],
  [["permessage-deflate"], deflate(true, true)],
  [["permessage-deflate; client_no_context_takeover"], deflate(false, true)],
  [["Permessage-Deflate;server_no_context_takeover ; server_max_window_bits=10"], deflate(true, false)],
  [["permessage-deflate; server_no_context_takeover; client_no_context_takeover"], deflate(false, false)],
  [["x-webkit-deflate-frame"], { kind: "unknown" }],
  [["permessage-deflate", "permessage-bzip2"], { kind: "unknown" }],
  [["permessage-deflate, mux; max-channels=4"], { kind: "unknown" }],
];

describe("readWebSocketExtensions()", () => {
  for (const [values, agreement] of CASES) {
    it(`reads ${JSON.stringify(values)}`, () => {
      const headers = values.map((value) => ["Sec-WebSocket-Extensions", value] as const);
      assert.deepEqual(readWebSocketExtensions([["Upgrade", "websocket"], ...headers]), agreement);
    });
  }
});
