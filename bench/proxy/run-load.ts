import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Measured, Route, Workload } from "./load.ts";

/** Runs a workload in a separate process, so that the client's time and memory are not the contender's. */
export async function runLoad(route: Route, work: Workload): Promise<Measured> {
  const client = fork(fileURLToPath(new URL("./load.ts", import.meta.url)), {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  try {
    client.send({ route, work });
    const [message] = (await once(client, "message")) as [{ measured?: Measured; failed?: string }];
    if (message.measured === undefined) throw new Error(message.failed);
    return message.measured;
  } finally {
    client.kill();
  }
}
