import { Agent, request } from "node:http";

/** What the daemon answered. */
export interface LoopbackAnswer {
  status: number;
  body: string;
}

/** How long the daemon may take to answer, in milliseconds: it is on this machine. */
const ANSWER_WITHIN_MS = 3000;

/**
 * Asks the daemon's loopback API. The agent is our own, so that a proxy named in the environment is never asked.
 * Rejects when nothing answers.
 */
export function askDaemon(port: number, path: string, token: string | null = null): Promise<LoopbackAnswer> {
  return new Promise((resolve, reject) => {
    const asking = request(
      {
        host: "127.0.0.1",
        port,
        path,
        agent: new Agent(),
        timeout: ANSWER_WITHIN_MS,
        headers: token === null ? {} : { authorization: `Bearer ${token}` },
      },
      (response) => {
        let body = "";
        response.setEncoding("utf8");
        response.on("data", (text: string) => {
          body += text;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
        response.on("error", reject);
      },
    );
    asking.on("timeout", () => asking.destroy(new Error(`no answer within ${ANSWER_WITHIN_MS} ms`)));
    asking.on("error", reject);
    asking.end();
  });
}
