import { connect } from "node:net";
import { closeSocket } from "./close-socket.ts";

/** Returns whether the address accepts a connection within the time. Sends nothing. */
export function probePort(host: string, port: number, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const settle = (isOpen: boolean) => {
      closeSocket(socket);
      resolve(isOpen);
    };
    socket.setTimeout(timeoutMs, () => settle(false));
    socket.once("connect", () => settle(true));
    socket.once("error", () => settle(false));
  });
}
