import type { Log } from "../../core/ports/log.ts";
import type { CloudServicePorts } from "./ports.ts";

/** The ports of tasks that run until the service stops. */
export interface StoppablePorts {
  readonly ports: CloudServicePorts;
  /** Cancels the requests in flight, and those made until `restart()`. */
  stop(): void;
  restart(): void;
}

/**
 * Wraps the ports so that one stop cancels every request. The store is closed after it, so a task that has not ended may fail, which
 * is not logged as an error.
 */
export function createStoppablePorts(ports: CloudServicePorts): StoppablePorts {
  const { client, log } = ports;
  let isStopped = false;
  let stopped = Promise.withResolvers<void>();
  const error: Log["error"] = (event, fields) => {
    if (!isStopped) log.error(event, fields);
  };
  return {
    ports: {
      ...ports,
      log: { debug: log.debug, info: log.info, warn: log.warn, error },
      client: {
        send: (request) => client.send({ cancelled: stopped.promise, ...request }),
        close: () => client.close(),
      },
    },
    stop() {
      isStopped = true;
      stopped.resolve();
    },
    restart() {
      if (isStopped) stopped = Promise.withResolvers();
      isStopped = false;
    },
  };
}
