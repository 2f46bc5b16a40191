import type { ProxyEvent, ProxySink, RunningProxy } from "./start-proxy.ts";
import type { TapFrame } from "./tap-frames.ts";

/** A proxy that accepts connections while the rest of the daemon starts. */
export interface EarlyProxy {
  /**
   * Delivers the buffered log and all later frames to the sink, and serves the clients that wait. Resolves when the proxy listens.
   * Rejects if it can't listen.
   */
  attach(sink: ProxySink): Promise<RunningProxy>;
  /** Stops the proxy if it was never attached; otherwise does nothing. */
  abandon(): Promise<void>;
}

/** Copies a frame's bytes, which are valid only during the call that delivers them. */
const copyFrame = (frame: TapFrame): TapFrame =>
  frame.kind === "data" ? { ...frame, bytes: frame.bytes.slice() } : frame;

/**
 * Starts a proxy before its log can be read, for example while a large database is opened after a crash. Until `attach()`
 * is called, its log is buffered in memory. With `ProxyConfig.holdMs`, clients wait that long.
 */
export function startProxyEarly(start: (sink: ProxySink) => Promise<RunningProxy>): EarlyProxy {
  let target: ProxySink | null = null;
  const buffered: ((sink: ProxySink) => void)[] = [];
  const running = start({
    frames(frames) {
      if (target !== null) return target.frames(frames);
      const copies = frames.map(copyFrame);
      buffered.push((sink) => sink.frames(copies));
    },
    event(event: ProxyEvent) {
      if (target !== null) return target.event(event);
      buffered.push((sink) => sink.event(event));
    },
    decide: (question, answer, passed, rest) => target?.decide?.(question, answer, passed, rest),
    sentLate: (connection, request) => target?.sentLate?.(connection, request),
  });
  running.catch(() => {}); // `attach()` reports it
  return {
    async attach(sink) {
      target = sink;
      for (const deliver of buffered.splice(0)) deliver(sink);
      const proxy = await running;
      proxy.serve();
      return proxy;
    },
    async abandon() {
      if (target !== null) return;
      const proxy = await running.catch(() => null);
      await proxy?.stop(0);
    },
  };
}
