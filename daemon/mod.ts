/**
 * The daemon as a library: proxy, capture, store and loopback API, given their ports. `cli/run-daemon.ts` is the
 * composition that the program uses; another program may bring its own attribution, prices or clock.
 *
 * ```ts
 * import { createCapture } from "./mod.ts";
 *
 * console.log(typeof createCapture); // "function": turns a tap log into records
 * ```
 */
export { type AttributorConfig, type AttributorPorts, createAttributor } from "./attribution.ts";
export { type Capture, createCapture } from "./capture/capture.ts";
export type { BodyPorts, CallAttribution, CapturePorts, ConnectionAttribution } from "./capture/ports.ts";
export { type Daemon, type DaemonConfig, type DaemonPorts, startDaemon } from "./daemon.ts";
export type { DaemonStatus } from "./daemon-status.ts";
