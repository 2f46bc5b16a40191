import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Agent, request } from "undici";
import { type OidcRig, startOidcProvider } from "../../adapters/accounts/oidc-provider.rig.ts";
import { createCertificateAuthority } from "../../simulation/certificate-authority.ts";
import { type CloudProcess, killCloudProcesses, startCloudProcess } from "../kit/cloud-process.ts";

describe("meter-cloud serve with a provider of OpenID Connect", () => {
  let provider: OidcRig;
  let cloud: CloudProcess;
  let browser: Agent;
  const home = mkdtempSync(join(tmpdir(), "meter-oidc-"));
  before(async () => {
    const authority = await createCertificateAuthority();
    provider = await startOidcProvider(await authority.mintLeaf("localhost"));
    browser = new Agent({ connect: { ca: authority.certificatePem } });
    const ca = join(home, "authority.pem");
    writeFileSync(ca, authority.certificatePem);
    // As in docs/hosting.md.
    writeFileSync(
      join(home, "config.toml"),
      `[[oidc]]\nid = "company"\nname = "Example Company"\nissuer = "${provider.origin}/"\nclient_id = "${provider.client.id}"\n`,
    );
    cloud = await startCloudProcess({
      home,
      withDatabase: true,
      env: { METER_CLOUD_OIDC_COMPANY_SECRET: provider.client.secret, NODE_EXTRA_CA_CERTS: ca },
    });
  });
  after(async () => {
    await cloud?.end("SIGTERM");
    killCloudProcesses();
    provider?.close();
    await browser?.close();
    rmSync(home, { recursive: true, force: true });
  });

  const cookies = new Map<string, string>();
  const send = async (url: string, form?: Readonly<Record<string, string>>) => {
    const answer = await request(url, {
      dispatcher: browser,
      method: form === undefined ? "GET" : "POST",
      headers: {
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
        ...(form === undefined
          ? {}
          : { origin: cloud.url, "content-type": "application/x-www-form-urlencoded" }),
      },
      ...(form === undefined ? {} : { body: new URLSearchParams(form).toString() }),
    });
    for (const text of [answer.headers["set-cookie"] ?? []].flat()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
      cookies.set(name, value);
    }
    const { location, refresh } = answer.headers;
    return {
      status: answer.statusCode,
      location: String(location),
      refresh: String(refresh),
      text: await answer.body.text(),
    };
  };

  it("creates the first account with the provider's button, with its own workspace", async () => {
    assert.match((await send(`${cloud.url}/sign-up`)).text, /Continue with Example Company/);
    provider.claims = { sub: "1", email: "ann@example.com", email_verified: true, name: "Ann" };
    const onward = await send(`${cloud.url}/sign-in/provider`, { provider: "company", next: "/" });
    const [, address = ""] = /^0; url=(.+)$/.exec(onward.refresh) ?? [];
    assert.ok(address.startsWith(`${provider.origin}/authorize?`), address);
    const back = await send(address);
    assert.ok(back.location.startsWith(`${cloud.url}/api/auth/oauth2/callback/company?`), back.location);
    const entered = await send(back.location);
    assert.equal(entered.location, `${cloud.url}/`);
    const home = await send(entered.location);
    assert.match(home.location, /^\/w\//);
    assert.match((await send(cloud.url + home.location)).text, /Nothing metered yet/);
    assert.doesNotMatch(cloud.output(), /canary/);
  });
});
