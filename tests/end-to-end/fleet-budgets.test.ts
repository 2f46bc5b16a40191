import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createCredentialStore } from "../../adapters/cloud-credentials/credential-store.ts";
import { type Served, serve } from "../../adapters/http/serve.ts";
import { requestBudgets } from "../../cli/daemon/request-budgets.ts";
import { SUM_CACHE_MS } from "../../cloud/budgets/sum-cache.ts";
import type { BudgetView } from "../../daemon/budgets/budget-views.ts";
import {
  type CloudRig,
  createRig,
  START,
  type TestPerson,
  type TestWorkspace,
} from "../cloud/kit/cloud-rig.ts";
import { describeOnOneEngine } from "../cloud/kit/engines.ts";
import { credentialsFor } from "../daemon/cloud/cloud.rig.ts";
import { onNodeOnly, SUITE_TIMEOUT_MS, waitFor } from "./meter-process.rig.ts";
import { type SyncMachine, startSyncMachine } from "./sync-machine.rig.ts";

describe("a fleet budget", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  describeOnOneEngine("on two daemons", (engine) => {
    let rig: CloudRig;
    let served: Served;
    let workspace: TestWorkspace;
    let admin: TestPerson;
    const machines: SyncMachine[] = [];

    before(async () => {
      const limits = { rateLimits: { perKey: 1e9, perUser: 1e9 } };
      rig = await createRig(engine, { config: limits });
      // The daemons have the real clock.
      rig.clock.advance(Date.now() - START);
      const app = rig.app(limits);
      served = await serve((request) => app.fetch(request), { host: "127.0.0.1", port: 0 });
      workspace = await rig.addWorkspace({ plan: "team" });
      admin = await rig.personIn(workspace, "workspaceAdmin");
      const terms = {
        name: "all",
        subject: "workspace",
        amount: "3 requests",
        period: "total",
        at_limit: "block",
      };
      assert.equal((await rig.call("POST", budgets(), admin.token, terms)).status, 201);
      const url = `http://127.0.0.1:${served.port}`;
      for (const hostname of ["one", "two"]) {
        const machine = await startSyncMachine(["[cloud]", "enabled = true", `base_url = "${url}"`]);
        machines.push(machine);
        const machineId = await rig.addMachine(workspace, hostname);
        const token = await rig.addKey(workspace, { machineId });
        await createCredentialStore(machine.home).write(credentialsFor(url, token));
      }
    });
    after(async () => {
      for (const machine of machines) await machine.close();
      await served?.close(0);
      await rig?.close();
    });

    const budgets = () => `/v1/workspaces/${workspace.id}/budgets`;

    const isShared = ({ name }: BudgetView) => name === "workspace/all";

    async function viewOn(machine: SyncMachine): Promise<BudgetView | undefined> {
      const { budgets: all } = JSON.parse(await machine.run("budget", "list", "--json"));
      return all.find(isShared);
    }

    /** The same from the daemon itself, for a wait. */
    const requestView = async (machine: SyncMachine) =>
      (await requestBudgets(machine.home))?.budgets.find(isShared);

    /** Makes calls until one is refused, or is not. A busy machine may decide too late; such calls are sent. */
    const callUntil = (machine: SyncMachine, blockedBy: string | null) =>
      waitFor(`a call that is ${blockedBy === null ? "sent" : "refused"}`, async () => {
        await machine.call(1);
        return (await machine.meter.rows()).at(-1)?.blockedBy === blockedBy;
      });

    it("refuses calls on one daemon once the other has used it up, and only the workspace can lift it", async () => {
      const [one, two] = machines as [SyncMachine, SyncMachine];
      for (const machine of machines)
        await waitFor("the budget", async () => (await requestView(machine)) !== undefined);
      await one.call(3);
      assert.equal((await viewOn(one))?.status, "exceeded");
      assert.equal((await viewOn(two))?.spent, "0");
      await one.sync();
      // The cloud answers with the same sum for a while. A daemon asks at its start.
      rig.clock.advance(SUM_CACHE_MS);
      await two.crash();
      await waitFor("what the other daemon used", async () => (await requestView(two))?.spent === "3");
      await callUntil(two, "workspace/all");
      const { code, stderr } = await two.attempt("budget", "lift", "workspace/all", "--for", "1h");
      assert.equal(code, 1);
      assert.match(
        stderr,
        /An administrator of the workspace can: http:\/\/127\.0\.0\.1:\d+\/w\/w1\/budgets/,
      );
      const { items } = (await (await rig.call("GET", budgets(), admin.token)).json()) as {
        items: { id: string }[];
      };
      const lift = { minutes: 60, reason: "release" };
      assert.equal(
        (await rig.call("POST", `${budgets()}/${items[0]?.id}/lift`, admin.token, lift)).status,
        204,
      );
      await two.crash();
      await waitFor("the lift", async () => (await requestView(two))?.status === "lifted");
      await callUntil(two, null);
      await two.run("cloud", "disconnect");
      assert.equal(await viewOn(two), undefined);
    });
  });
});
