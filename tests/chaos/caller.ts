import { createExchangeReader } from "../../core/metering/exchange/exchange-reader.ts";
import type { MeterProcess } from "../end-to-end/meter-process.rig.ts";
import { dialProvider, type RawCall, writeRequest } from "../end-to-end/raw-client.rig.ts";
import type { SeededRandom } from "../simulation/seeded-random.ts";

type Socket = Awaited<ReturnType<typeof dialProvider>>;

/** A client with its own connections, one to each host, as in the providers' libraries. It makes one call at a time. */
export interface Caller {
  /** Sends the call with the label as its project. Resolves once the response is complete, rejects if it is cut off. */
  call(call: RawCall, label: string): Promise<void>;
  close(): void;
}

interface Line {
  socket: Socket;
  send(bytes: Buffer): Promise<void>;
}

/** A connection that sends each request once the previous response is complete. */
function openLine(socket: Socket): Line {
  let settle: ((problem: string | null) => void) | null = null;
  const settleWith = (problem: string | null) => {
    settle?.(problem);
    settle = null;
  };
  const reader = createExchangeReader({
    requestHead() {},
    requestBody() {},
    requestEnd() {},
    informational() {},
    responseHead() {},
    responseBody() {},
    responseEnd: (_, complete) => settleWith(complete ? null : "cut"),
    upgraded() {},
    upgradedBytes() {},
    unreadable: (reason) => settleWith(reason),
  });
  socket.on("data", (bytes: Buffer) => reader.push("response", bytes, 0));
  socket.on("error", (error: NodeJS.ErrnoException) => settleWith(error.code ?? error.message));
  socket.on("close", () => {
    reader.end("response", 0);
    settleWith("closed");
  });
  return {
    socket,
    send(bytes) {
      return new Promise((resolve, reject) => {
        settle = (problem) => (problem === null ? resolve() : reject(new Error(problem)));
        if (socket.destroyed) return settleWith("closed");
        reader.push("request", bytes, 0);
        socket.write(bytes);
      });
    },
  };
}

/** Creates a client of the daemon that runs at the time of a call. */
export function createCaller(
  meter: () => Pick<MeterProcess, "proxyPort" | "caPem">,
  random: SeededRandom,
): Caller {
  const lines = new Map<string, Line>();
  return {
    async call(call, label) {
      const known = lines.get(call.host);
      const line =
        known === undefined || known.socket.destroyed
          ? openLine(await dialProvider(meter(), call.host))
          : known;
      const isLast = random.integer(0, 9) === 0;
      if (isLast) lines.delete(call.host);
      else lines.set(call.host, line);
      const bytes = writeRequest(call, isLast, random);
      const afterFirstLine = bytes.indexOf("\r\n") + 2;
      try {
        await line.send(
          Buffer.concat([
            bytes.subarray(0, afterFirstLine),
            Buffer.from(`X-Meter-Project: ${label}\r\n`),
            bytes.subarray(afterFirstLine),
          ]),
        );
      } catch (error) {
        lines.delete(call.host);
        line.socket.destroy();
        throw error;
      }
    },
    close() {
      for (const { socket } of lines.values()) socket.destroy();
      lines.clear();
    },
  };
}
