import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { describe, it } from "node:test";
import { closeSocket, registerTlsStream, resetSocket } from "../../daemon/proxy/close-socket.ts";
import { onNodeOnly, runMeter, SUITE_TIMEOUT_MS, waitFor } from "./meter-process.rig.ts";
import { dialProvider, dialTcp, rawCalls } from "./raw-client.rig.ts";
import { useSimulatedMeter } from "./simulated-meter.rig.ts";

/** The ways in which a client aborts a call. */
const manners: Readonly<Record<string, (client: Socket) => void>> = {
  "a reset": resetSocket,
  "FIN, and close_notify on TLS": (client) => void client.end(() => closeSocket(client)),
  "a close without a goodbye": (client) => closeSocket(client),
};

const hangsBefore = "silence";
const hangsInside = "drip+events-2000";

describe("an abort by the client", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  const rig = useSimulatedMeter("client aborts");
  let rowsSeen = 0;

  const ways: Readonly<Record<string, (scenario: string) => Promise<Socket>>> = {
    async CONNECT(scenario) {
      const call = rawCalls.anthropic?.(scenario, true);
      const tls = await dialProvider(rig.meter, call?.host ?? "");
      registerTlsStream(tls.transport, tls);
      return send(tls, call?.host ?? "", call?.path ?? "", call?.body);
    },
    async "the gateway"(scenario) {
      const call = rawCalls.anthropic?.(scenario, true);
      const host = `127.0.0.1:${rig.meter.proxyPort}`;
      return send(await dialTcp(rig.meter.proxyPort), host, `/anthropic${call?.path}`, call?.body);
    },
  };

  function send(client: Socket, host: string, path: string, body: unknown): Socket {
    const text = JSON.stringify(body);
    client.on("error", () => {});
    client.write(
      `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
    return client;
  }

  for (const [way, open] of Object.entries(ways)) {
    for (const [manner, abort] of Object.entries(manners)) {
      for (const [phase, scenario] of [
        ["before the answer", hangsBefore],
        ["inside the answer", hangsInside],
      ] as const) {
        it(`by ${manner} ${phase} through ${way} is network and not retryable, with the usage so far`, async () => {
          const client = await open(scenario);
          let received = "";
          client.on("data", (bytes: Buffer) => (received += bytes.toString("latin1")));
          await waitFor("the provider to be at that point", () =>
            scenario === hangsInside
              ? received.includes("content_block_delta")
              : rig.simulation.connections.some((each) => Buffer.concat(each.received).includes(hangsBefore)),
          );
          rig.simulation.connections.length = 0;
          abort(client);
          const row = (await rig.meter.waitForRows(rowsSeen + 1))[rowsSeen];
          rowsSeen += 1;
          assert.deepEqual([row?.errorClass, row?.retryable, row?.tokensComplete], ["network", false, false]);
          assert.equal(row?.tokens.promptTokens !== null, scenario === hangsInside);
          const { stdout } = await runMeter(rig.meter.home, ["explain", row?.requestId ?? ""]);
          assert.match(
            stdout.replaceAll("\n", " "),
            scenario === hangsInside
              ? / closed the connection after \S+ m?s, before the response was complete\. By then the provider had stated [\d,]+ input tokens?\b/
              : / closed the connection after \S+ m?s, before the response began\. No token counts had arrived, /,
          );
        });
      }
    }
  }
});
