import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import fc from "fast-check";
import { openBody } from "../../cloud/store/body-cipher.ts";
import { propertyRuns } from "../core/property-runs.rig.ts";
import { batch, type CloudRig, createRig, record, type TestWorkspace, UNLIMITED } from "./kit/cloud-rig.ts";
import { describeOnOneEngine } from "./kit/engines.ts";
import { bodyPayload } from "./kit/stored-body.ts";
import {
  createTenantsModel,
  type Expected,
  KEYS,
  markOf,
  type Operation,
  PEOPLE,
  REQUESTS,
  type TenantsModel,
  tokensOf,
  WORKSPACES,
} from "./kit/tenants-model.ts";

const place = (length: number) => fc.integer({ min: 0, max: length - 1 });
const [person, workspace, key, request] = [PEOPLE, WORKSPACES, KEYS, REQUESTS].map((of) =>
  place(typeof of === "number" ? of : of.length),
) as [fc.Arbitrary<number>, fc.Arbitrary<number>, fc.Arbitrary<number>, fc.Arbitrary<number>];
const rarely = fc.integer({ min: 0, max: 9 }).map((drawn) => drawn === 0);
const who = { person, workspace };

/** Most actions read. Few change permissions; otherwise soon no one may do anything. */
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 10, arbitrary: fc.record({ kind: fc.constant("send"), key, stale: rarely, request }) },
  { weight: 12, arbitrary: fc.record({ kind: fc.constant("upload"), key, stale: rarely, request }) },
  {
    weight: 20,
    arbitrary: fc.record({ kind: fc.constant("read_body"), person, request, within: fc.option(workspace) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("trace"), ...who, request }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom("list", "sum", "views"), ...who }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("switch"), ...who, on: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("remove"), ...who, whom: person }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("invite"),
      ...who,
      whom: person,
      role: fc.constantFrom("admin", "member"),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("block"), ...who, key, on: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("renew"), key }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete"), ...who }) },
);

/** The run's entities at the model's positions. */
interface Run {
  readonly workspaces: readonly TestWorkspace[];
  readonly people: readonly { readonly id: string; readonly email: string; readonly session: string }[];
  readonly machines: readonly string[];
  readonly keys: { current: string; stale: string | null }[];
  readonly requests: readonly string[];
}

describeOnOneEngine("tenants, compared with a model", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config: UNLIMITED });
  });
  after(() => rig.close());

  // Planted, each found within six runs: members read colleagues' bodies; a removed person or their key still has access;
  // a blocked machine's or a revoked key is accepted; a view is not recorded; the switch is ignored;
  // a colleague's key replaces a body.
  it("answer every action as the model does, and show no tenant another tenant's data", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(operation, { minLength: 30, maxLength: 80, size: "max" }),
        async (operations) => {
          const run = await begin(rig);
          const model = createTenantsModel();
          for (const [at, each] of operations.entries()) {
            const text = `upload ${at}`;
            const reached = PEOPLE.map((_, one) =>
              run.workspaces.map((_, other) => model.reaches(one, other)),
            );
            const expected = model.apply(each, text);
            // Periods end now, exclusively.
            rig.clock.advance(1);
            const { status, shown, body } = await perform(rig, run, each, text);
            assert.deepEqual(
              { status, shown },
              { status: expected.status, shown: shownBy(run, each, expected) },
            );
            if (!("person" in each)) continue;
            for (const [other, reaches] of (reached[each.person] ?? []).entries()) {
              if (!reaches) assert.ok(!body.includes(markOf(other)), `${markOf(other)} in ${body}`);
            }
          }
          await compareStored(rig, run, model);
        },
      ),
      { endOnFailure: true, numRuns: propertyRuns(10) },
    );
  });
});

async function begin(rig: CloudRig): Promise<Run> {
  const people = [];
  for (const [at] of PEOPLE.entries()) {
    const email = `${rig.uuid()}@example.com`;
    const made = await rig.accounts.createUser({ name: `Person ${at}`, email, password: null });
    assert.ok(made.ok);
    people.push({ id: made.userId, email, session: await rig.sessionFor(made.userId) });
  }
  const workspaces: TestWorkspace[] = [];
  for (let at = 0; at < WORKSPACES; at += 1) {
    const made = await rig.addWorkspace({ plan: "business", storePromptContent: true });
    await rig.db
      .updateTable("workspaces")
      .set({ name: markOf(at) })
      .where("workspace_id", "=", made.id)
      .execute();
    for (const [whom, places] of PEOPLE.entries()) {
      const role = places[at];
      const userId = people[whom]?.id ?? "";
      if (role === "owner") await addOwner(rig, made, userId);
      else if (role != null) await rig.addMember(made, userId, role);
    }
    workspaces.push(made);
  }
  const machines: string[] = [];
  const keys = [];
  for (const [at, { person: owner, workspace: home }] of KEYS.entries()) {
    const of = workspaces[home] as TestWorkspace;
    machines.push(await rig.addMachine(of, `${markOf(home)} ${at}`));
    const made = await rig.addKey(of, { userId: people[owner]?.id ?? "", machineId: machines[at] ?? "" });
    keys.push({ current: made, stale: null as string | null });
  }
  return { workspaces, people, machines, keys, requests: Array.from({ length: REQUESTS }, () => rig.uuid()) };
}

async function addOwner(rig: CloudRig, { organisationId }: TestWorkspace, userId: string): Promise<void> {
  await rig.db
    .insertInto("organisation_members")
    .values({ organisation_id: organisationId, user_id: userId, role: "owner", created_at: rig.clock.now() })
    .execute();
}

interface Performed {
  readonly status: number;
  readonly shown: unknown;
  readonly body: string;
}

/** Performs the action over HTTP and returns the parts of the response that the model knows. */
async function perform(rig: CloudRig, run: Run, each: Operation, text: string): Promise<Performed> {
  const ask = async (
    method: string,
    path: string,
    token: string,
    payload: unknown,
    pick: (value: Answer) => unknown,
  ) => {
    const answer = await rig.call(method, path, token, payload);
    const body = await answer.text();
    const shown = answer.status === 200 ? pick(JSON.parse(body)) : undefined;
    return { status: answer.status, shown, body };
  };
  const nothing = () => undefined;
  if (each.kind === "send" || each.kind === "upload") {
    const { current, stale } = run.keys[each.key] as Run["keys"][number];
    // Until a key is renewed, a key that does not exist stands for the stale one.
    const token = each.stale
      ? (stale ?? `${current.slice(0, -1)}${current.endsWith("A") ? "B" : "A"}`)
      : current;
    const id = run.requests[each.request] ?? "";
    const mark = markOf(KEYS[each.key]?.workspace ?? -1);
    if (each.kind === "send") {
      const sent = record(id, { prompt_tokens: tokensOf(each.request, each.key), project: mark });
      return await ask("POST", "/v1/requests/batch", token, batch(sent), ({ accepted, rejected }) =>
        accepted === 1 ? "accepted" : (rejected[0]?.code ?? "duplicates"),
      );
    }
    const payload = bodyPayload(id, `${mark} ${text}`);
    return await ask("POST", `/v1/requests/${id}/body`, token, payload, ({ stored }) => ({ stored }));
  }
  if (each.kind === "renew") {
    const of = run.keys[each.key] as Run["keys"][number];
    const { person: owner, workspace: home } = KEYS[each.key] as (typeof KEYS)[number];
    of.stale = of.current;
    of.current = await rig.addKey(run.workspaces[home] as TestWorkspace, {
      userId: run.people[owner]?.id ?? "",
      machineId: run.machines[each.key] ?? "",
    });
    return { status: 200, shown: undefined, body: "" };
  }
  const { session } = run.people[each.person] as Run["people"][number];
  if (each.kind === "read_body") {
    const within = each.within === null ? "" : `&workspace_id=${run.workspaces[each.within]?.id}`;
    const path = `/v1/traces/${run.requests[each.request]}/body?reason=model${within}`;
    return await ask("GET", path, session, undefined, (value) => value.request.text);
  }
  const home = `/v1/workspaces/${run.workspaces[each.workspace]?.id}`;
  switch (each.kind) {
    case "trace":
      return await ask("GET", `${home}/traces/${run.requests[each.request]}`, session, undefined, requestOf);
    case "list":
      return await ask("GET", `${home}/traces?limit=100`, session, undefined, ({ items }) =>
        items.map(requestOf).sort(byText),
      );
    case "sum":
      return await ask("GET", `${home}/overview`, session, undefined, ({ totals }) => [
        totals.requests,
        totals.prompt_tokens,
      ]);
    case "views":
      return await ask("GET", `${home}/audit/prompt-views?limit=100`, session, undefined, ({ items }) =>
        items.map((view: Answer) => [view.viewer_user_id, view.subject_user_id, view.request_id]).reverse(),
      );
    case "switch":
      return await ask("PATCH", `${home}/settings`, session, { store_prompt_content: each.on }, nothing);
    case "remove":
      return await ask("DELETE", `${home}/members/${run.people[each.whom]?.id}`, session, undefined, nothing);
    case "invite": {
      const whom = run.people[each.whom] as Run["people"][number];
      const invited = await ask(
        "POST",
        `${home}/invitations`,
        session,
        { email: whom.email, role: each.role },
        nothing,
      );
      if (invited.status !== 201) return invited;
      const token = JSON.parse(invited.body).link.split("#")[1];
      return await ask("POST", "/v1/invitations/accept", whom.session, { token }, nothing);
    }
    case "block": {
      const path = `${home}/machines/${run.machines[each.key]}/${each.on ? "block" : "invite"}`;
      return await ask("POST", path, session, undefined, nothing);
    }
    case "delete":
      return await ask("DELETE", home, session, undefined, nothing);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: checked field by field.
type Answer = any;

const byText = (one: unknown, other: unknown) => (String(one) < String(other) ? -1 : 1);
const requestOf = ({ request_id, user, machine, prompt_tokens }: Answer) =>
  [request_id, user.id, machine.id, prompt_tokens].join(" ");

/** What the model expects to see, with the ids of the run. */
function shownBy(run: Run, each: Operation, { status, shows }: Expected): unknown {
  if (status !== 200 || shows === undefined) return undefined;
  const line = (at: number, sender: number) =>
    [
      run.requests[at],
      run.people[KEYS[sender]?.person ?? -1]?.id,
      run.machines[sender],
      tokensOf(at, sender),
    ].join(" ");
  if (each.kind === "trace") return line(each.request, shows as number);
  if (each.kind === "list")
    return [...(shows as Map<number, number>)].map(([at, by]) => line(at, by)).sort(byText);
  if (each.kind === "sum") {
    const all = [...(shows as Map<number, number>)];
    return [all.length, all.reduce((sum, [at, by]) => sum + tokensOf(at, by), 0)];
  }
  if (each.kind === "views") return viewsOf(run, shows as TenantsModel["workspaces"][number]["views"]);
  return shows;
}

const viewsOf = (run: Run, views: TenantsModel["workspaces"][number]["views"]) =>
  views.map(({ viewer, subject, request: at }) => [
    run.people[viewer]?.id,
    run.people[subject]?.id,
    run.requests[at],
  ]);

async function openStored(
  rig: CloudRig,
  workspaceId: string,
  row: {
    readonly request_id: string;
    readonly request_body: Uint8Array | null;
    readonly request_key_id: string | null;
  },
): Promise<string | null> {
  if (row.request_body === null) return null;
  const key = await rig.bodyKeys.read(row.request_key_id ?? assert.fail("a body is not encrypted"));
  const place = { workspaceId, requestId: row.request_id, direction: "request" } as const;
  const content = await openBody(row.request_body, key ?? assert.fail("a body's key is missing"), place);
  return new TextDecoder().decode(content);
}

/** The final rows of the database equal the model's: no change went unreported. */
async function compareStored(rig: CloudRig, run: Run, model: TenantsModel): Promise<void> {
  for (const [at, { requests, views }] of model.workspaces.entries()) {
    const own = run.workspaces[at]?.id ?? "";
    const stored = await rig.db
      .selectFrom("requests as r")
      .leftJoin("request_bodies as b", (join) =>
        join.onRef("b.workspace_id", "=", "r.workspace_id").onRef("b.request_id", "=", "r.request_id"),
      )
      .select(["r.request_id", "r.machine_id", "b.request_body", "b.request_key_id"])
      .where("r.workspace_id", "=", own)
      .execute();
    const opened = new Map<string, readonly [string | null, string | null]>();
    for (const row of stored) opened.set(row.request_id, [row.machine_id, await openStored(rig, own, row)]);
    assert.deepEqual(
      opened,
      new Map([...requests].map(([id, { key: by, body }]) => [run.requests[id], [run.machines[by], body]])),
    );
    const written = await rig.db
      .selectFrom("prompt_views")
      .select(["viewer_user_id", "subject_user_id", "request_id"])
      .where("workspace_id", "=", own)
      .orderBy("seq")
      .execute();
    assert.deepEqual(
      written.map((view) => [view.viewer_user_id, view.subject_user_id, view.request_id]),
      viewsOf(run, views),
    );
  }
}
