import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { waitFor } from "../../end-to-end/meter-process.rig.ts";

/** Returns a free port. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

interface Message {
  id?: number;
  method?: string;
  params?: { sessionId?: string; workerInfo?: { title: string } };
}

/**
 * Runs an expression in each worker thread of that name that the process has or starts, through Node's own inspector:
 * this blocks a thread from outside, so that the program needs no switch for it. The process was started with
 * `NODE_OPTIONS=--inspect=127.0.0.1:<port>`.
 */
export async function evaluateInWorkers(
  inspectPort: number,
  name: string,
  expression: string,
): Promise<{ stop(): void }> {
  const target = await waitFor("the inspector", async () => {
    const answer = await fetch(`http://127.0.0.1:${inspectPort}/json/list`).catch(() => null);
    const [first] = answer === null ? [] : ((await answer.json()) as { webSocketDebuggerUrl: string }[]);
    return first?.webSocketDebuggerUrl;
  });
  const socket = new WebSocket(target);
  let lastId = 0;
  const send = (method: string, params: object) => {
    socket.send(JSON.stringify({ id: (lastId += 1), method, params }));
  };
  const attached = Promise.withResolvers<void>();
  socket.addEventListener("message", (event: { data: unknown }) => {
    const { method, params } = JSON.parse(String(event.data)) as Message;
    if (method !== "NodeWorker.attachedToWorker" || !params?.workerInfo?.title.endsWith(name)) return;
    const message = JSON.stringify({ id: 1, method: "Runtime.evaluate", params: { expression } });
    send("NodeWorker.sendMessageToWorker", { sessionId: params.sessionId, message });
    attached.resolve();
  });
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", () => reject(new Error("the inspector does not answer")));
  });
  send("NodeWorker.enable", { waitForDebuggerOnStart: false });
  await attached.promise;
  return { stop: () => socket.close() };
}
