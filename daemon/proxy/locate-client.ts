import type { Socket } from "node:net";
import type { ClientLocation } from "./dial.ts";
import { isLoopbackAddress } from "./forbidden-targets.ts";

/** Returns where a client is. A client whose address equals the one that it connected to is on this machine too. */
export function locateClient(client: Socket): ClientLocation {
  const { remoteAddress, localAddress } = client;
  if (remoteAddress === undefined) return "remote"; // it has disconnected
  return isLoopbackAddress(remoteAddress) || remoteAddress === localAddress ? "local" : "remote";
}
