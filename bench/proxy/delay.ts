// A relay that makes the bench's provider seem far away: every chunk arrives later by a fixed time, in both directions.
// The TCP handshake is not delayed, so a new connection costs one round trip less than over a real network.
import { connect, createServer, type Socket } from "node:net";
import process from "node:process";

const [target, oneWayMs] = process.argv.slice(2).map(Number) as [number, number];

function pass(from: Socket, to: Socket): void {
  from.on("data", (bytes: Buffer) => setTimeout(() => to.writable && to.write(bytes), oneWayMs));
  from.on("end", () => setTimeout(() => to.end(), oneWayMs));
  from.on("close", () => setTimeout(() => to.destroy(), oneWayMs));
  from.on("error", () => {});
}

const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
  const far = connect({ port: target, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
  pass(near, far);
  pass(far, near);
});
server.listen(0, "127.0.0.1", () => {
  process.send?.({ port: (server.address() as { port: number }).port });
});
