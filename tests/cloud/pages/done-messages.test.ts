import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { passDoneOn, takeDone, withDone } from "../../../cloud/pages/done-messages.ts";
import type { TestPerson } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { openTeamPages, PAGES_BASE, type PageVisitor, type TeamPages, visitPages } from "./pages.rig.ts";

describe("the result codes of forms", () => {
  it("show a message on their own page, and are removed from the address", () => {
    const parameters = new URLSearchParams("period=7d&done=revoke");
    assert.equal(takeDone("/keys", parameters), "The key is revoked.");
    assert.equal(`${parameters}`, "period=7d");
    assert.equal(withDone("/w/1/keys", "/keys", "revoke"), "/w/1/keys?done=revoke");
  });

  it("show none on another page, and none if they are unknown", () => {
    for (const [page, code] of [
      ["/settings", "revoke"],
      ["/nowhere", "revoke"],
      ["constructor", "name"],
      ["__proto__", "toString"],
      ["/keys", "constructor"],
      ["/keys", "__proto__"],
      ["/keys", "toString"],
      ["/keys", "<script>alert(1)</script>"],
      ["/keys", ""],
    ] as const)
      assert.equal(takeDone(page, new URLSearchParams({ done: code })), null, `${page} ${code}`);
  });

  it("are passed on only if they are known", () => {
    const pass = (code: string) => passDoneOn("/w/1", "/", new URLSearchParams({ done: code }));
    assert.equal(pass("workspace-left"), "/w/1?done=workspace-left");
    assert.equal(pass("//evil.test"), "/w/1");
  });
});

describeOnOneEngine("forms of a workspace", (engine) => {
  let pages: TeamPages;
  let admin: PageVisitor;
  let person: TestPerson;
  before(async () => {
    pages = await openTeamPages(engine);
    person = await pages.rig.personIn(pages.workspace, "workspaceAdmin");
    admin = visitPages(pages.app, pages.workspace, person, PAGES_BASE);
  });
  after(() => pages.rig.close());

  /** Sends a form, follows its redirect, and returns the status messages of the page. */
  const send = async (path: string, fields: Readonly<Record<string, string>>) => {
    const answer = await admin.post(path, fields);
    const [, refusal = ""] = /role="alert">([^<]+)/.exec(await answer.text()) ?? [];
    assert.equal(answer.status, 303, `${path} ${fields.action}: ${refusal}`);
    const to = (answer.headers.get("location") ?? "").replace(`/w/${pages.workspace.id}`, "");
    const text = await admin.read(to);
    assert.doesNotMatch(text, /This page has no “done”/);
    return [...text.matchAll(/<p class="done" role="status">([^<]+)<\/p>/g)].map(([, message]) => message);
  };
  const idOn = async (path: string, pattern: RegExp) => pattern.exec(await admin.read(path))?.[1] ?? "";

  it("say what was done, in a status message, once", async () => {
    const { rig, workspace, member } = pages;
    const machine = await rig.addMachine(workspace, "laptop");
    await rig.addKey(workspace, { userId: member.userId, machineId: machine });
    const own = await rig.addMachine(workspace, "own");
    // Only one's own machine can be given to another member.
    await rig.db
      .updateTable("machines")
      .set({ user_id: person.userId })
      .where("machine_id", "=", own)
      .execute();
    const budget = {
      ...{ action: "create", name: "all", for: "workspace", amount: "$25", period: "month" },
      ...{ thresholds: "50", at_limit: "warn", reserve: "no", fail: "open", zone: "UTC" },
    };
    const view = { action: "save", page: "/explore", query: "by=provider", name: "mine" };
    assert.equal(
      (await admin.post("/members", { action: "invite", email: "a@b.test", role: "member" })).status,
      200,
    );
    for (const [path, fields, expected, listed] of [
      ["/settings", { action: "zone", zone: "Europe/Berlin" }, /time zone is saved/],
      ["/settings", { action: "bodies", store: "yes" }, /answers that machines send are stored/],
      ["/settings", { action: "bodies", store: "no" }, /no prompt or answer is stored/],
      ["/machines", { action: "rename", id: machine, name: "new" }, /name of the machine is saved/],
      [
        "/machines",
        { action: "give", id: own, user: member.userId },
        /now used by the person that you chose/,
      ],
      ["/machines", { action: "block", id: machine }, /machine is blocked/],
      ["/machines", { action: "unblock", id: machine }, /no longer blocked/],
      ["/budgets", budget, /budget is set/],
      ["/budgets", { ...budget, action: "change" }, /budget is changed/, /value="([0-9a-f-]{36})"/],
      ["/budgets", { action: "pause" }, /budget is paused/, /value="([0-9a-f-]{36})"/],
      ["/budgets", { action: "resume" }, /budget applies again/, /value="([0-9a-f-]{36})"/],
      [
        "/budgets",
        { action: "lift", minutes: "60", reason: "" },
        /budget is lifted/,
        /value="([0-9a-f-]{36})"/,
      ],
      ["/budgets", { action: "remove" }, /budget is removed/, /value="([0-9a-f-]{36})"/],
      ["/views", view, /view is saved/],
      ["/views", { action: "change", name: "ours", shared: "yes" }, /view is changed/, /id="change-([^"]+)"/],
      ["/views", { action: "delete" }, /view is deleted/, /id="change-([^"]+)"/],
      [
        "/members",
        { action: "revoke" },
        /invitation is revoked/,
        /value="revoke"><input type="hidden" name="id" value="([^"]+)"/,
      ],
      ["/members", { action: "role", id: member.userId, role: "admin" }, /role is changed/],
      ["/members", { action: "remove", id: member.userId }, /no longer a member/],
      ["/keys", { action: "revoke" }, /key is revoked/, /id="revoke-([^"]+)"/],
      ["/privacy", { action: "erase", project: "apollo", confirmed: "yes" }, /nothing was erased/],
    ] as const) {
      const id = listed === undefined ? {} : { id: await idOn(path, listed) };
      const messages = await send(path, { ...fields, ...id });
      assert.equal(messages.length, 1, `${path} ${fields.action}`);
      assert.match(messages[0] ?? "", expected);
    }
    assert.doesNotMatch(await admin.read("/keys"), /class="done"/);
  });

  it("show nothing for a code that no form sends", async () => {
    for (const path of ["/keys", "/machines", "/settings", "", "/requests"]) {
      const text = await admin.read(`${path}?done=%3Cscript%3Ealert(1)%3C/script%3E`);
      assert.doesNotMatch(text, /<p class="done"|alert\(1\)/, path);
    }
  });
});
