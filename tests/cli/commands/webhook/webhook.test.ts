import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { createEmptyHome, runWords } from "../../run-command.rig.ts";

const key = Buffer.alloc(32, 7);
const configFor = (url: string) =>
  `[[webhooks]]\nurl = "${url}"\nevents = ["record.stored"]\nsecret = "whsec_${key.toString("base64")}"\n`;

describe("meter webhook", () => {
  const received: { headers: IncomingHttpHeaders; body: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    received.push({ headers: request.headers, body });
    response.writeHead(request.url === "/moved" ? 302 : 204, { location: "/" }).end();
  });
  let base = "";
  before(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => server.close());

  const run = async (config: string, ...words: string[]) => {
    const { home, remove } = createEmptyHome(config);
    try {
      return await runWords(home, ["webhook", ...words]);
    } finally {
      remove();
    }
  };

  it("test sends a signed message", async () => {
    const { code, stdout } = await run(configFor(`${base}/hook`), "test");
    assert.equal(code, 0);
    assert.match(stdout, /^127\.0\.0\.1:\d+: delivered \(HTTP 204\)\n$/);
    const [{ headers, body }] = received as [(typeof received)[0]];
    assert.equal(JSON.parse(body).type, "webhook.test");
    const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
    assert.equal(
      headers["webhook-signature"],
      `v1,${createHmac("sha256", key).update(signed).digest("base64")}`,
    );
  });

  it("test fails without a webhook, and if one does not accept the message", async () => {
    const missing = await run("", "test");
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /has no \[\[webhooks\]\] that can be used/);
    const count = received.length;
    const moved = await run(configFor(`${base}/moved`), "test");
    assert.equal(moved.code, 1);
    assert.match(moved.stdout, /: failed \(HTTP 302\)\n$/);
    assert.equal(received.length, count + 1, "a redirect is not followed");
    assert.match(moved.stderr, /1 of 1 webhooks failed/);
  });

  it("secret prints a secret that the configuration accepts", async () => {
    const { stdout } = await run("", "secret");
    assert.match(stdout, /^whsec_[A-Za-z0-9+/]{43}=\n$/);
    assert.notEqual(stdout, (await run("", "secret")).stdout);
  });
});
