import { connect } from "node:net";
import { closeSocket } from "./close-socket.ts";

/** What a probe showed. `unknown`: this process or machine could not open another socket. */
export type PortProbe = "open" | "closed" | "unknown";

/** The errors of a process or a machine that has no descriptor, memory or local port left. Source: socket(2), connect(2). */
const EXHAUSTED = new Set(["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM", "EADDRNOTAVAIL", "EAGAIN"]);

/** Returns whether the address accepts a connection within the time. Sends nothing. */
export function probePort(host: string, port: number, timeoutMs: number): Promise<PortProbe> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const settle = (probe: PortProbe) => {
      closeSocket(socket);
      resolve(probe);
    };
    socket.setTimeout(timeoutMs, () => settle("closed"));
    socket.once("connect", () => settle("open"));
    socket.once("error", ({ code }: NodeJS.ErrnoException) =>
      settle(EXHAUSTED.has(code ?? "") ? "unknown" : "closed"),
    );
  });
}
