/**
 * Serves a fetch handler, such as a Hono app, on one address.
 *
 * ```ts
 * import { serve } from "./mod.ts";
 *
 * const served = await serve(() => new Response("hello"), { host: "127.0.0.1", port: 0 });
 * console.log(await (await fetch(`http://127.0.0.1:${served.port}`)).text()); // "hello"
 * await served.close(1_000);
 * ```
 */
export { type Peer, type Served, type ServeOptions, serve } from "./serve.ts";
