import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import { createSmtpMail } from "../../../adapters/mail/create-smtp-mail.ts";
import { createParts } from "../../../cloud/create-parts.ts";
import { listOwnSummaries, SUMMARY_RETRY_MS } from "../../../cloud/store/weekly-summaries.ts";
import { sendSummaries } from "../../../cloud/summaries/send-summaries.ts";
import { startSummaryJob } from "../../../cloud/summaries/summary-job.ts";
import { type Mail, MailError, type SendMail } from "../../../core/ports/mail.ts";
import { DatabaseError } from "../../../core/ports/postgres.ts";
import { startMailServer } from "../../adapters/mail/mail-server.rig.ts";
import { createCertificateAuthority } from "../../simulation/certificate-authority.ts";
import {
  batch,
  type CloudRig,
  createRig,
  json,
  record,
  START,
  type TestPerson,
  type TestWorkspace,
} from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";

const DAY = 86_400_000;
const BASE = "http://127.0.0.1:8787";
const HOSTILE = `Wo<b>rk"\u202E\nBcc: x@example.com`;

/** The tests' clock starts on a Saturday; the first summary is due on Monday at 8, UTC. */
const MONDAY = Date.UTC(2026, 10, 23, 8);

describeOnOneEngine("weekly summaries", (engine) => {
  let rig: CloudRig;
  let workspace: TestWorkspace;
  let ann: TestPerson;
  let mails: Mail[];
  let fails: boolean;
  let arrival: Promise<void>;
  let arrived: () => void;
  // A clock that only advances needs a rig for each test.
  beforeEach(async () => {
    rig = await createRig(engine, { config: { baseUrl: BASE } });
    [mails, fails] = [[], false];
    ({ promise: arrival, resolve: arrived } = Promise.withResolvers<void>());
    workspace = await rig.addWorkspace({ plan: "team" });
    ann = await rig.personIn(workspace, "member");
    await rig.db
      .updateTable("workspaces")
      .set({ name: HOSTILE })
      .where("workspace_id", "=", workspace.id)
      .execute();
  });
  afterEach(() => rig.close());

  const at = (time: number) => rig.clock.advance(time - rig.clock.now());

  const mail: SendMail = async (each) => {
    if (fails) throw new MailError("no");
    mails.push(each);
    arrived();
  };
  /** The parts of another process on the same database. */
  const parts = () =>
    createParts(
      {
        ...{
          db: rig.db,
          clock: rig.clock,
          accounts: rig.accounts,
          mail,
          log: (event) => rig.log.push(event),
        },
        ...{ randomBytes: rig.parts.randomBytes, sha256: () => new Uint8Array(32), peerAddress: () => null },
      },
      { baseUrl: BASE },
    );
  const pathOf = (of = workspace) => `/v1/workspaces/${of.id}/weekly-summary`;
  const turn = async (enabled: boolean, person = ann, of = workspace) =>
    assert.equal((await rig.call("PATCH", pathOf(of), person.token, { enabled })).status, 204);
  const isOn = async () => (await json(rig.call("GET", pathOf(), ann.token))).enabled;
  const send = (daysAgo: number, fields: Record<string, unknown>) =>
    rig.call(
      "POST",
      "/v1/requests/batch",
      workspace.token,
      batch(
        record(rig.uuid(), {
          requested_at: new Date(START - daysAgo * DAY).toISOString(),
          ...{ billing_mode: "metered", http_status: 200, prompt_tokens: 1_000_000, completion_tokens: 0 },
          ...{ tokens_complete: true, project: "shop", ...fields },
        }),
      ),
    );

  it("are off until a person starts them, and come each Monday morning of the workspace's zone", async () => {
    assert.equal(await isOn(), false);
    assert.equal(await sendSummaries(parts()), 0);
    await turn(true);
    await turn(true);
    assert.equal(await isOn(), true);
    assert.equal(await sendSummaries(parts()), 0);
    at(MONDAY - 1);
    assert.equal(await sendSummaries(parts()), 0);
    at(MONDAY);
    assert.equal(await sendSummaries(parts()), 1);
    assert.equal(await sendSummaries(parts()), 0);
    at(MONDAY + 7 * DAY);
    assert.equal(await sendSummaries(parts()), 1);
    await turn(false);
    at(MONDAY + 14 * DAY);
    assert.equal(await sendSummaries(parts()), 0);
    assert.equal(mails.length, 2);
  });

  it("show the figures of the overview, with what is missing from them", async () => {
    await send(1, { model: "gpt-4o" });
    await send(2, { model: "gpt-4o", billing_mode: "plan", project: "<i>web</i>" });
    await send(3, { model: "unheard-of" });
    await send(9, { model: "gpt-4o", prompt_tokens: 500_000 });
    await turn(true);
    at(MONDAY);
    assert.equal(await sendSummaries(parts()), 1);
    const [sent] = mails;
    assert.ok(sent !== undefined);
    const people = await rig.accounts.getPeople([ann.userId]);
    assert.equal(sent.to, people.get(ann.userId)?.email);
    assert.doesNotMatch(sent.subject, /[\n\u202E]/);
    assert.equal(sent.subject, 'Weekly summary of Wo<b>rk" Bcc: x@example.com: $2.50');
    for (const part of [
      "2026-11-16 to 2026-11-22 (UTC)",
      "Spent: $2.50 (+100% on $1.25 in the week before)",
      "Plan usage: $2.50 (at API prices, not spent)",
      "Requests: 3 (none failed)",
      "- 1 request has no known price; its cost is not included.",
      "  Fri 2026-11-20: $2.50",
      "  shop: $2.50",
      "  gpt-4o: $2.50 ($2.50 plan usage)",
      `Open this week: ${BASE}/w/${workspace.id}?from=2026-11-16&to=2026-11-23`,
    ])
      assert.ok(sent.text.includes(part), `${part}\n\n${sent.text}`);
    assert.doesNotMatch(sent.html ?? "", /<i>|<b>|src="(?!cid:)/);
    assert.match(sent.html ?? "", /<small>Spent by day\. Dashed: the week before\.<\/small>/);
    assert.match(sent.html ?? "", /<img src="cid:days" [^>]*alt="Spent by day: Mon 2026-11-16 \$0\.00, /);
    assert.deepEqual(
      [sent.picture?.contentType, sent.picture?.fileName, [...(sent.picture?.bytes.subarray(1, 4) ?? [])]],
      ["image/png", "spent-2026-11-16.png", [0x50, 0x4e, 0x47]],
    );
    const page = await rig
      .app({ baseUrl: BASE })
      .request(new URL(/Open this week: (\S+)/.exec(sent.text)?.[1] ?? "").href.slice(BASE.length), {
        headers: { cookie: `session=${ann.token}` },
      });
    assert.match(
      await page.text(),
      /<dt>Spent<\/dt><dd class="value"><a [^>]+><data value="2\.5\d*">\$2\.50</,
    );
  });

  it("are sent by one of several processes, and again an hour after a failure", async () => {
    await turn(true);
    at(MONDAY);
    const sent = await Promise.all(Array.from({ length: 4 }, () => sendSummaries(parts())));
    assert.deepEqual(sent.toSorted(), [0, 0, 0, 1]);
    assert.equal(mails.length, 1);
    at(MONDAY + 7 * DAY);
    fails = true;
    assert.equal(await sendSummaries(parts()), 0);
    assert.deepEqual(
      rig.log.findLast(({ event }) => event === "cloud.mail_failed"),
      {
        event: "cloud.mail_failed",
        reason: "MailError",
      },
    );
    fails = false;
    assert.equal(await sendSummaries(parts()), 0);
    at(MONDAY + 7 * DAY + SUMMARY_RETRY_MS);
    assert.equal(await sendSummaries(parts()), 1);
    assert.equal(mails.length, 2);
  });

  it("are sent to all others if one person's fails before its email is written", async () => {
    await turn(true);
    // A later id: summaries are sent in the order of workspaces.
    rig.clock.advance(1);
    const other = await rig.addWorkspace({ plan: "team" });
    await turn(true, await rig.personIn(other, "member"), other);
    at(MONDAY);
    const getPeople: CloudRig["accounts"]["getPeople"] = async (ids) => {
      if (ids.includes(ann.userId)) throw new DatabaseError("unavailable");
      return await rig.accounts.getPeople(ids);
    };
    const accounts = { ...rig.accounts, getPeople };
    await assert.rejects(sendSummaries({ ...parts(), accounts }), DatabaseError);
    assert.equal(mails.length, 1);
    assert.equal(await sendSummaries(parts()), 1);
  });

  it("are sent again after an attempt that failed while the clock was ahead", async () => {
    await turn(true);
    at(MONDAY + 3 * DAY);
    fails = true;
    assert.equal(await sendSummaries(parts()), 0);
    fails = false;
    rig.clock.jump(MONDAY);
    assert.equal(await sendSummaries(parts()), 1);
    assert.equal(await sendSummaries(parts()), 0);
  });

  it("are not sent to anyone who was removed or has no account, and do not resume later", async () => {
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const ben = await rig.personIn(workspace, "member");
    await turn(true);
    await turn(true, ben);
    const path = `/v1/workspaces/${workspace.id}/members/${ann.userId}`;
    assert.equal((await rig.call("DELETE", path, admin.token)).status, 204);
    await rig.accounts.deleteUser(ben.userId);
    at(MONDAY);
    assert.equal(await sendSummaries(parts()), 0);
    assert.equal((await listOwnSummaries(rig.db, ann.userId)).size, 0);
    await rig.db
      .updateTable("memberships")
      .set({ removed_at: null })
      .where("user_id", "=", ann.userId)
      .execute();
    at(MONDAY + 7 * DAY);
    assert.equal(await sendSummaries(parts()), 0);
    assert.deepEqual(mails, []);
  });

  it("end by one POST to the link in the email, from anywhere and for that person only, but not by opening it", async () => {
    const app = rig.app({ baseUrl: BASE });
    const ben = await rig.personIn(workspace, "member");
    await turn(true);
    await turn(true, ben);
    at(MONDAY);
    assert.equal(await sendSummaries(parts()), 2);
    const people = await rig.accounts.getPeople([ann.userId]);
    const own = mails.find(({ to }) => to === people.get(ann.userId)?.email);
    const url = new URL(own?.unsubscribe ?? "");
    assert.ok(own?.text.includes(`Turn it off: ${url.href}`));
    const path = url.pathname + url.search;
    assert.match(await (await app.request(path)).text(), /<button>Stop the emails<\/button>/);
    assert.equal(await isOn(), true);
    const post = (to: string) =>
      app.request(to, {
        method: "POST",
        body: "List-Unsubscribe=One-Click",
        headers: { "content-type": "application/x-www-form-urlencoded", origin: "https://mail.example" },
      });
    for (const [name, value] of [
      ["token", "0".repeat(48)],
      ["token", ""],
      ["person", ben.userId],
      // PostgreSQL stores no such text.
      ["person", "\0"],
      ["token", "\0"],
      ["workspace", "x"],
    ] as const) {
      const other = new URL(url);
      other.searchParams.set(name, value);
      assert.equal((await post(other.pathname + other.search)).status, 200);
    }
    assert.equal(await isOn(), true);
    assert.equal((await post(path)).status, 200);
    assert.equal((await post(path)).status, 200);
    assert.equal(await isOn(), false);
    assert.equal((await listOwnSummaries(rig.db, ben.userId)).size, 1);
  });

  it("are started and stopped on the account page, which shows only the visitor's own", async () => {
    const app = rig.app({ baseUrl: BASE });
    const post = (enabled: string, of: string) =>
      app.request("/account", {
        method: "POST",
        body: new URLSearchParams({ action: "summary", workspace: of, enabled }),
        headers: { cookie: `session=${ann.token}`, origin: BASE },
      });
    assert.equal((await post("yes", workspace.id)).status, 303);
    assert.equal(await isOn(), true);
    const page = await app.request("/account", { headers: { cookie: `session=${ann.token}` } });
    assert.match(
      await page.text(),
      /<button class="link">Turn off<span class="hidden"> the weekly summary of /,
    );
    assert.equal((await post("no", workspace.id)).status, 303);
    assert.equal(await isOn(), false);
    const other = await rig.addWorkspace();
    assert.equal((await post("yes", other.id)).status, 404);
  });

  it("are sent by a job until it is stopped", async () => {
    await turn(true);
    const job = startSummaryJob(parts(), { baseUrl: BASE });
    at(MONDAY);
    await arrival;
    await job.stop();
    assert.equal(mails.length, 1);
    assert.deepEqual(rig.log.at(-1), { event: "cloud.summaries_sent", sent: 1 });
    assert.equal(rig.clock.nextTimerMs(), null);
  });

  it("reach a mail server over TLS as text, HTML and a picture, with the header that ends them", {
    skip: "Deno" in globalThis || "Bun" in globalThis,
  }, async () => {
    const host = "127.0.0.2";
    const authority = await createCertificateAuthority("Mail authority");
    const server = await startMailServer({ host, certificate: await authority.mintLeaf(host) });
    try {
      const url = `smtp://${host}:${server.port}`;
      const smtp = await createSmtpMail({ url, from: "meter@example.com", ca: authority.certificatePem });
      await send(1, { model: "gpt-4o" });
      await turn(true);
      at(MONDAY);
      assert.equal(await sendSummaries({ ...parts(), mail: smtp }), 1);
      const [received] = server.received;
      assert.ok(received?.encrypted);
      const head = received.data.replaceAll(/\r\n[ \t]+/g, " ");
      for (const part of [
        /^List-Unsubscribe: <http:\/\/127\.0\.0\.1:8787\/unsubscribe\?workspace=[^>]+&token=[0-9a-f]{48}>\r$/m,
        /^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m,
        /^Content-Type: text\/plain/m,
        /^Content-Type: text\/html/m,
        /^Content-Type: image\/png; name=spent-2026-11-16\.png/m,
        /^Content-Id: <days>\r$/im,
        /^iVBORw0KGgo/m,
      ])
        assert.match(head, part);
    } finally {
      await server.close();
    }
  });
});
