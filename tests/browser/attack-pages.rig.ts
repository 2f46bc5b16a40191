import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { KIT_SCRIPT, KIT_STYLE } from "../../pages/client-files.data.ts";

/** One way in which a web page could reach a server on this machine. */
interface Attack {
  readonly name: string;
  /** The host name that the page is served under; every name leads to this machine. */
  readonly host: string;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The page, which posts to the path. It puts what it could read into `stolen`, and sets `done` when it has tried
   * everything.
   */
  page(target: string, path: string): string;
  /** Whether it navigates the tab away from the page. */
  readonly navigates?: boolean;
}

/** Submits the only form of the page, as if its visitor had clicked. */
const submit = "<script>document.forms[0].submit()</script>";
const script = (body: string) =>
  `<script>window.stolen = []; (async () => { ${body} })().catch(() => {}).finally(() => { window.done = true; });</script>`;
const form = (action: string, enctype: string, fields: string) =>
  `<form method="post" action="${action}" enctype="${enctype}">${fields}</form>${submit}`;
const json = `<input name='{"force":true,"base_url":"http://evil.test","x":"' value='"}'>`;

/** The nine attacks of the threat model, and some more. `{target}` is an origin. */
export const attacks: readonly Attack[] = [
  {
    name: "a form, as forms are",
    host: "evil.test",
    navigates: true,
    page: (target, path) =>
      form(target + path, "application/x-www-form-urlencoded", '<input name="force" value="true">'),
  },
  {
    name: "a form whose text reads as JSON",
    host: "evil.test",
    navigates: true,
    page: (target, path) => form(target + path, "text/plain", json),
  },
  {
    name: "fetch without CORS",
    host: "evil.test",
    page: (target, path) =>
      script(`
        const post = { method: "POST", mode: "no-cors", headers: { "content-type": "text/plain" }, body: '{"force":true}' };
        stolen.push(await (await fetch("${target}${path}", post)).text());
        for (const path of ["/v1/cloud/state", "/v1/stats", "/health"])
          stolen.push(await (await fetch("${target}" + path, { mode: "no-cors" })).text());`),
  },
  {
    name: "a form on a page that sends no referrer, so that its origin is null",
    host: "evil.test",
    headers: { "referrer-policy": "no-referrer" },
    navigates: true,
    page: (target, path) => form(target + path, "text/plain", json),
  },
  {
    name: "a form on a page in a sandbox, so that its origin is null",
    host: "evil.test",
    headers: { "content-security-policy": "sandbox allow-scripts allow-forms" },
    navigates: true,
    page: (target, path) => form(target + path, "text/plain", json),
  },
  {
    name: "fetch from a sandbox",
    host: "evil.test",
    headers: { "content-security-policy": "sandbox allow-scripts" },
    page: (target, path) =>
      script(`
        const post = { method: "POST", mode: "no-cors", body: "{}" };
        stolen.push(await (await fetch("${target}${path}", post)).text());
        stolen.push(await (await fetch("${target}/v1/cloud/state")).text());`),
  },
  {
    name: "a form that is sent on by a 307",
    host: "evil.test",
    navigates: true,
    page: (target, path) => form(`/redirect?to=${encodeURIComponent(target + path)}`, "text/plain", json),
  },
  {
    name: "frames",
    host: "evil.test",
    page: (target, path) =>
      `<iframe name="into"></iframe><form method="post" target="into" action="${target}${path}"></form>${script(`
        document.forms[0].submit();
        const loaded = (frame) => new Promise((resolve) => { frame.onload = frame.onerror = resolve; });
        await loaded(document.querySelector("iframe"));
        for (const path of ["/", "/v1/stats", "${path}"]) {
          const frame = document.createElement("iframe");
          const wait = loaded(frame);
          frame.src = "${target}" + path;
          document.body.append(frame);
          await wait;
          try { stolen.push(frame.contentDocument.body.textContent); } catch {}
          try { stolen.push(frame.contentWindow.document.body.textContent); } catch {}
        }`)}`,
  },
  {
    name: "window.open",
    host: "evil.test",
    page: (target, path) =>
      script(`
        for (const path of ["/", "/v1/cloud/state", "${path}"]) {
          const opened = window.open("${target}" + path, "_blank");
          await new Promise((resolve) => setTimeout(resolve, 300));
          try { stolen.push(opened.document.body.textContent); } catch {}
          try { if (opened.length > 0) stolen.push("frames: " + opened.length); } catch {}
        }
        const form = document.createElement("form");
        Object.assign(form, { method: "post", action: "${target}${path}", target: "_blank" });
        document.body.append(form);
        form.submit();`),
  },
  {
    name: "another port of localhost, with all that CORS can send",
    host: "localhost",
    page: (target, path) =>
      script(`
        const headers = { "content-type": "application/json", "x-meter-request": "1" };
        const tries = [
          ["${path}", { method: "POST", headers, body: '{"force":true}' }],
          ["${path}", { method: "POST", mode: "no-cors", body: "{}" }],
          ["/v1/cloud/state", {}], ["/v1/stats", { credentials: "include" }], ["/metrics", {}], ["/", {}], ["/health", {}],
        ];
        for (const [path, how] of tries) {
          try { stolen.push(await (await fetch("${target}" + path, how)).text()); } catch {}
        }`),
  },
  {
    name: "a form on another port of localhost",
    host: "localhost",
    navigates: true,
    page: (target, path) => form(target + path, "text/plain", json),
  },
  {
    name: "pictures, scripts, styles, events, sockets and beacons",
    host: "evil.test",
    page: (target, path) =>
      script(`
        navigator.sendBeacon("${target}${path}", '{"force":true}');
        const load = (tag, name, path) => new Promise((resolve) => {
          const element = document.createElement(tag);
          element.onload = () => { stolen.push(tag + " loaded " + path); resolve(); };
          element.onerror = resolve;
          element[name] = "${target}" + path;
          if (tag === "link") element.rel = "stylesheet";
          document.head.append(element);
        });
        await load("img", "src", "/health");
        await load("img", "src", "${path}");
        await load("script", "src", "${KIT_SCRIPT.path}");
        await load("link", "href", "${KIT_STYLE.path}");
        await new Promise((resolve) => {
          const events = new EventSource("${target}/v1/events");
          events.onopen = () => { stolen.push("events opened"); resolve(); };
          events.onerror = () => { events.close(); resolve(); };
        });
        await new Promise((resolve) => {
          const socket = new WebSocket("${target}/v1/events".replace("http", "ws"));
          socket.onopen = () => { stolen.push("socket opened"); resolve(); };
          socket.onerror = resolve;
        });`),
  },
];

/** A server that serves the pages and, to prove that the attacks work, accepts every request. */
export interface Attacker {
  readonly port: number;
  /** The number of state-changing requests that it received. */
  readonly believed: number;
  close(): void;
}

/** Starts the server. `/attack/<n>?target=&path=` is the page of the n-th attack. */
export async function startAttacker(): Promise<Attacker> {
  let believed = 0;
  const server: Server = createServer((request: IncomingMessage, answer) => {
    const url = new URL(request.url ?? "/", "http://attacker");
    const [, number] = /^\/attack\/(\d+)$/.exec(url.pathname) ?? [];
    const attack = attacks[Number(number)];
    if (number !== undefined && attack !== undefined) {
      answer.writeHead(200, { "content-type": "text/html", ...attack.headers });
      const [target, path] = ["target", "path"].map((name) => url.searchParams.get(name) ?? "") as [
        string,
        string,
      ];
      answer.end(`<!doctype html><body>${attack.page(target, path)}</body>`);
    } else if (url.pathname === "/redirect") {
      answer.writeHead(307, { location: url.searchParams.get("to") ?? "/" }).end();
    } else {
      if (request.method === "POST") believed++;
      answer.writeHead(200, {
        "content-type": "text/plain",
        "access-control-allow-origin": request.headers.origin ?? "*",
        "access-control-allow-headers": "content-type, x-meter-request",
        "access-control-allow-credentials": "true",
      });
      answer.end("believed");
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get believed() {
      return believed;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
