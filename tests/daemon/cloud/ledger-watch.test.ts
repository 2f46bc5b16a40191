import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { checkLedger, LEDGER_CHECK_MS, readLedgerWitness } from "../../../daemon/cloud/ledger-watch.ts";
import { createMachine, type Machine, type ScriptedCloud, startScriptedCloud, until } from "./cloud.rig.ts";

const PATH = "/v1/daemon/ledger-heads";
const head = (seq: number, letter: string, asked: string | null = null) => ({
  seq,
  hash: letter.repeat(64),
  asked_hash: asked === null ? null : asked.repeat(64),
});
const heads = (costs: ReturnType<typeof head>) => ({
  status: 200,
  body: { workspace_id: "w1", prompt_views: head(0, "0"), audit_events: head(2, "e", "e"), costs },
});

describe("the comparison of the cloud's ledgers", () => {
  let cloud: ScriptedCloud;
  let machine: Machine;
  const clock = createManualClock(Date.UTC(2026, 10, 21, 12));

  before(async () => {
    cloud = await startScriptedCloud();
  });
  after(() => cloud.close());
  beforeEach(async () => {
    cloud.seen.length = 0;
    machine = await createMachine(cloud.url, { clock });
  });
  afterEach(() => machine.close());

  const changes = () => machine.logged.filter(({ event }) => event === "ledger.changed");

  it("saves the first heads, and asks for the hashes of these rows the next time", async () => {
    cloud.script(PATH, heads(head(5, "a")), heads(head(8, "b", "a")));
    await checkLedger(machine.ports);
    const second = await checkLedger(machine.ports);
    assert.deepEqual(
      cloud.to(PATH).map(({ path }) => path),
      [`${PATH}?`, `${PATH}?prompt_views=0&audit_events=2&costs=5`],
    );
    assert.equal(second.kind === "compared" && second.witness.fault, null);
    assert.deepEqual(readLedgerWitness(machine.store.notes, "w1")?.heads.costs, {
      seq: 8,
      hash: "b".repeat(64),
    });
  });

  it("keeps the heads and the first fault of a ledger that was rewritten, logs it once, and forgets it when told", async () => {
    const rewritten = heads(head(8, "b", "c"));
    cloud.script(PATH, heads(head(5, "a")), rewritten, heads(head(5, "a", "a")), rewritten);
    for (let time = 0; time < 3; time += 1) await checkLedger(machine.ports);
    const state = await machine.service.state();
    assert.deepEqual(state.ledger?.fault, { chain: "costs", seq: 5, fault: "history_rewritten" });
    assert.equal(state.ledger?.heads.costs.seq, 5);
    assert.deepEqual(
      changes().map(({ fields }) => fields),
      [{ chain: "costs", seq: 5, fault: "history_rewritten" }],
    );
    await checkLedger(machine.ports, { accept: true });
    const accepted = readLedgerWitness(machine.store.notes, "w1");
    assert.deepEqual([accepted?.fault, accepted?.heads.costs.seq], [null, 8]);
    assert.equal(readLedgerWitness(machine.store.notes, "w2"), null);
  });

  it("changes nothing after an answer that it can't use, or from an older cloud", async () => {
    const foreign = heads(head(9, "d"));
    cloud.script(
      PATH,
      heads(head(5, "a")),
      { status: 404 },
      { status: 500 },
      { status: 200, body: { workspace_id: "w1" } },
      { ...foreign, body: { ...foreign.body, workspace_id: "w2" } },
    );
    const kinds: string[] = [];
    for (let time = 0; time < 5; time += 1) kinds.push((await checkLedger(machine.ports)).kind);
    assert.deepEqual(kinds, ["compared", "unsupported", "failed", "failed", "failed"]);
    assert.equal(readLedgerWitness(machine.store.notes, "w1")?.heads.costs.seq, 5);
  });

  it("runs at once and each hour while the machine is connected", async () => {
    cloud.otherwise(PATH, heads(head(5, "a", "a")));
    await machine.service.start();
    await until("the first comparison", () => {
      clock.advance(0);
      return cloud.to(PATH).length === 1 && readLedgerWitness(machine.store.notes, "w1") !== null;
    });
    await until("the second comparison", () => {
      clock.advance(LEDGER_CHECK_MS);
      return cloud.to(PATH).length >= 2;
    });
  });
});
