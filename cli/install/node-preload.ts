import { join } from "node:path";
import { writeFileIfChanged } from "../../adapters/files/write-file-atomic.ts";
import { createNoProxyMatcher, noProxyFunctions } from "../../core/values/text/no-proxy.ts";

/**
 * The script that `meter run` loads into each Node below it, in plain JavaScript for Node 18 and newer.
 *
 * - Before Node 22.21 and 24.5, `fetch` and `https` ignore proxy variables: `fetch` gets a dispatcher and `https.Agent` a
 *   connection that ask the proxy for a tunnel.
 * - Newer ones follow them only in their global agents. The AWS SDK creates agents of its own, so those follow them too.
 * - `ollama-js` reads no variable. Its requests to Ollama on this machine go to the gateway.
 * - HTTP/2 to Bedrock, the AWS SDK's default there, cannot be metered, so it is reported once.
 */
const SCRIPT = String.raw`"use strict";
((createDirectMatcher) => {
  const { env } = process;
  const proxyUrl = env.HTTPS_PROXY;
  if (!proxyUrl) return;
  const http2 = require("node:http2");
  const https = require("node:https");
  const net = require("node:net");
  const tls = require("node:tls");
  const proxy = new URL(proxyUrl);
  const isDirect = createDirectMatcher(env);

  const tunnel = (host, port, done) => {
    const authority = (host.includes(":") ? "[" + host + "]" : host) + ":" + port;
    const login = decodeURIComponent(proxy.username) + ":" + decodeURIComponent(proxy.password);
    const authorization =
      login === ":" ? "" : "Proxy-Authorization: Basic " + Buffer.from(login).toString("base64") + "\r\n";
    const socket = net.connect({ host: proxy.hostname.replace(/^\[|\]$/g, ""), port: Number(proxy.port || 80) });
    let head = "";
    const fail = (error) => {
      socket.destroy();
      done(error);
    };
    const onEnd = () => fail(new Error("the meter's proxy closed the connection"));
    const onData = (bytes) => {
      head += bytes.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      socket.off("data", onData).off("error", fail).off("end", onEnd);
      if (!/^HTTP\/1\.1 2/.test(head)) return fail(new Error("the meter's proxy answered " + head.slice(0, 12)));
      done(null, socket);
    };
    socket.setNoDelay(true).on("data", onData).once("error", fail).once("end", onEnd);
    socket.write("CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n" + authorization + "\r\n");
  };

  const followsProxies = process.allowedNodeEnvironmentFlags.has("--use-env-proxy");
  if (followsProxies) {
    const Agent = https.Agent;
    https.Agent = new Proxy(Agent, {
      construct: (target, [options], derived) => Reflect.construct(target, [{ proxyEnv: env, ...options }], derived),
      apply: (target, self, [options]) => new Agent({ proxyEnv: env, ...options }),
    });
  } else {
    const direct = https.Agent.prototype.createConnection;
    https.Agent.prototype.createConnection = function (...words) {
      const [options, done] = words;
      const host = options?.host ?? options?.hostname;
      const port = Number(options?.port || 443);
      if (typeof host !== "string" || typeof done !== "function" || options.socketPath || isDirect(host, port))
        return direct.apply(this, words);
      tunnel(host, port, (error, socket) => {
        if (error) done(error);
        else done(null, direct.call(this, { ...options, socket }));
      });
    };
  }

  const connect = (options, done) => {
    const { hostname, protocol, servername } = options;
    const port = Number(options.port || (protocol === "https:" ? 443 : 80));
    const host = hostname.replace(/^\[|\]$/g, "");
    let isDone = false;
    const settle = (error, socket) => {
      if (isDone) return;
      isDone = true;
      done(error, socket);
    };
    if (protocol !== "https:") {
      const socket = net.connect({ host, port, noDelay: true });
      return void socket.once("connect", () => settle(null, socket)).once("error", settle);
    }
    const secure = (transport) => {
      const name = servername || (net.isIP(host) ? undefined : host);
      const where = transport === null ? { host, port } : { socket: transport };
      const socket = tls.connect({ ...where, servername: name, ALPNProtocols: ["http/1.1"] });
      socket.once("secureConnect", () => settle(null, socket)).once("error", settle);
    };
    if (isDirect(host, port)) return secure(null);
    tunnel(host, port, (error, socket) => (error ? settle(error) : secure(socket)));
  };

  const dispatcherKey = Symbol.for("undici.globalDispatcher.1");
  let isInstalled = followsProxies;
  const install = () => {
    isInstalled = true;
    void globalThis.Headers; // loads undici, which sets the dispatcher
    const Agent = globalThis[dispatcherKey]?.constructor;
    if (Agent !== undefined) globalThis[dispatcherKey] = new Agent({ connect });
  };
  const gateway = /\/ollama$/.test(env.OLLAMA_HOST ?? "") ? env.OLLAMA_HOST : null;
  const redirect = (input) =>
    gateway !== null && (typeof input === "string" || input instanceof URL)
      ? String(input).replace(/^http:\/\/(?:127\.0\.0\.1|localhost):11434(?=\/|$)/, gateway)
      : input;
  const { fetch } = globalThis;
  if (typeof fetch === "function") {
    globalThis.fetch = function (input, init) {
      if (!isInstalled) install();
      return fetch.call(this, redirect(input), init);
    };
  }

  const connectHttp2 = http2.connect;
  let isReported = false;
  http2.connect = function (authority, ...words) {
    if (!isReported && /bedrock-runtime/.test(String(authority))) {
      isReported = true;
      process.stderr.write(
        "meter: This program calls Bedrock over HTTP/2, which is not metered. Pass requestHandler: new NodeHttpHandler() of @smithy/node-http-handler to its client.\n",
      );
    }
    return connectHttp2.call(this, authority, ...words);
  };
  require("node:module").syncBuiltinESMExports();
})`;

/**
 * Returns the whole script. It can import nothing of the meter, whose modules need a newer Node, so it has the text of the
 * functions that read `NO_PROXY`. A bundler may rename them.
 */
export const nodePreloadScript = (): string =>
  `${SCRIPT}((() => {\n${noProxyFunctions.join("\n")}\nreturn ${createNoProxyMatcher.name};\n})());\n`;

/** Writes the script below the home, and returns the value of `NODE_OPTIONS` that loads it after the caller's own options. */
export function writeNodePreload(home: string, ownOptions: string | undefined): string {
  const path = join(home, "node-preload.cjs");
  writeFileIfChanged(path, nodePreloadScript(), { mode: 0o644 });
  // Quotes keep spaces, and a backslash escapes within them: nodejs.org/api/cli.html#node_optionsoptions.
  const option = `--require="${path.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
  return ownOptions ? `${ownOptions} ${option}` : option;
}
