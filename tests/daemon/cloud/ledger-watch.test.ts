import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { checkLedger, LEDGER_CHECK_MS, readLedgerWitness } from "../../../daemon/cloud/ledger-watch.ts";
import { sampleRecord } from "../store/sample-records.rig.ts";
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

  const HOUR = 3_600_000;
  const restored = (generation: string, backupAt: number) => ({
    generation,
    backup_at: new Date(backupAt).toISOString(),
    restored_at: new Date(clock.now()).toISOString(),
    server_time: new Date(clock.now()).toISOString(),
  });
  const restoredHeads = (costs: ReturnType<typeof head>, backupAt: number) => {
    const answer = heads(costs);
    const restore = restored("01994b8e-7c00-7000-8000-000000000000", backupAt);
    return { ...answer, body: { ...answer.body, restored: restore } };
  };

  it("says that a cloud was restored, and not that it was rewritten, if it lacks only rows from after the backup", async () => {
    cloud.script(PATH, heads(head(5, "a")));
    await checkLedger(machine.ports);
    const backupAt = clock.now() + 2 * HOUR;
    clock.advance(3 * HOUR);
    cloud.script(PATH, heads(head(9, "b", "a")));
    await checkLedger(machine.ports);
    cloud.seen.length = 0;
    clock.advance(HOUR);
    // Another row is now in the place of the ninth: machines sent again.
    const answer = restoredHeads(head(11, "d", "c"), backupAt);
    cloud.script(PATH, answer, restoredHeads(head(11, "d", "a"), backupAt), heads(head(12, "e", "d")));
    const first = await checkLedger(machine.ports);
    assert.equal(first.kind === "compared" && first.witness.fault, null);
    assert.equal(first.kind === "compared" && first.witness.backupAt, backupAt);
    const second = await checkLedger(machine.ports);
    assert.equal(second.kind === "compared" && second.witness.fault, null);
    assert.deepEqual(
      cloud.to(PATH).map(({ path }) => path.slice(PATH.length)),
      [
        "?prompt_views=0&audit_events=2&costs=9",
        "?prompt_views=0&audit_events=2&costs=5",
        "?prompt_views=0&audit_events=2&costs=11&generation=01994b8e-7c00-7000-8000-000000000000",
      ],
    );
    assert.deepEqual(changes(), []);
  });

  it("finds out if a restored cloud has other rows from before the backup", async () => {
    cloud.script(PATH, heads(head(5, "a")));
    await checkLedger(machine.ports);
    const backupAt = clock.now() + 2 * HOUR;
    clock.advance(3 * HOUR);
    const answer = restoredHeads(head(11, "d", "c"), backupAt);
    cloud.script(PATH, answer, answer, heads(head(12, "e", "a")));
    const result = await checkLedger(machine.ports);
    const fault = { chain: "costs", seq: 5, fault: "history_rewritten" };
    assert.deepEqual(result.kind === "compared" && result.witness.fault, fault);
    const again = await checkLedger(machine.ports);
    assert.deepEqual(again.kind === "compared" && again.witness.fault, fault);
    assert.deepEqual(again.kind === "compared" && again.witness.heads.costs.seq, 5);
    assert.equal(changes().length, 1);
  });

  /** Saves the heads of row 5 and, an hour later, of row 9. Returns a time before both. */
  const saveTwoHeads = async () => {
    cloud.script(PATH, heads(head(5, "a")), heads(head(9, "b", "a")));
    await checkLedger(machine.ports);
    const before = clock.now() - 24 * HOUR;
    clock.advance(HOUR);
    await checkLedger(machine.ports);
    cloud.seen.length = 0;
    return before;
  };
  const faultOf = (result: Awaited<ReturnType<typeof checkLedger>>) =>
    result.kind === "compared" ? result.witness.fault : result.kind;

  it("keeps a fault of ledgers that differ after a restore from a backup older than every kept head", async () => {
    const backupAt = await saveTwoHeads();
    const rewritten = restoredHeads(head(11, "d", "c"), backupAt);
    cloud.script(PATH, rewritten, rewritten, heads(head(12, "e", "c")), heads(head(12, "e")));
    const fault = { chain: "costs", seq: 5, fault: "not_comparable" };
    assert.deepEqual(faultOf(await checkLedger(machine.ports)), fault);
    assert.deepEqual(faultOf(await checkLedger(machine.ports)), fault);
    assert.deepEqual(
      cloud.to(PATH).map(({ path }) => new URL(path, "http://cloud").searchParams.get("costs")),
      ["9", "5", "5"],
    );
    const { ledger } = await machine.service.state();
    assert.deepEqual([ledger?.heads.costs.seq, ledger?.backupAt], [5, backupAt]);
    assert.deepEqual(
      changes().map(({ fields }) => fields),
      [fault],
    );
    assert.equal(faultOf(await checkLedger(machine.ports, { accept: true })), null);
    const accepted = readLedgerWitness(machine.store.notes, "w1");
    assert.deepEqual(
      [accepted?.heads.costs.seq, accepted?.kept?.map(({ heads: { costs } }) => costs.seq)],
      [12, [12]],
    );
  });

  it("reports a ledger that was cut after such a restore, and accepts one that still has the oldest kept head", async () => {
    const backupAt = await saveTwoHeads();
    const cut = restoredHeads(head(4, "d"), backupAt);
    cloud.script(PATH, cut, cut);
    const fault = { chain: "costs", seq: 5, fault: "not_comparable" };
    assert.deepEqual(faultOf(await checkLedger(machine.ports)), fault);
    await machine.close();
    machine = await createMachine(cloud.url, { clock });
    const whole = restoredHeads(head(6, "d", "a"), await saveTwoHeads());
    cloud.script(PATH, whole, whole);
    assert.equal(faultOf(await checkLedger(machine.ports)), null);
    assert.deepEqual(changes(), []);
  });

  it("compares the oldest head that has rows if the ledger was empty at first", async () => {
    cloud.script(PATH, heads(head(0, "0")));
    await checkLedger(machine.ports);
    clock.advance(24 * HOUR);
    const backupAt = (await saveTwoHeads()) - 24 * HOUR;
    const rewritten = restoredHeads(head(11, "d", "c"), backupAt);
    cloud.script(PATH, rewritten, rewritten);
    const fault = { chain: "costs", seq: 5, fault: "not_comparable" };
    assert.deepEqual(faultOf(await checkLedger(machine.ports)), fault);
  });

  it("compares the saved heads with such a restore if an older version kept no others", async () => {
    const backupAt = await saveTwoHeads();
    const { kept: _, ...witness } = readLedgerWitness(machine.store.notes, "w1") ?? {};
    machine.store.notes.write("ledger_heads", JSON.stringify(witness));
    const cut = restoredHeads(head(8, "d"), backupAt);
    cloud.script(PATH, cut, cut);
    const fault = { chain: "costs", seq: 9, fault: "not_comparable" };
    assert.deepEqual(faultOf(await checkLedger(machine.ports)), fault);
  });

  it("keeps the first fault and its heads if the cloud states a restore after it", async () => {
    const backupAt = await saveTwoHeads();
    const rewritten = restoredHeads(head(11, "d", "c"), backupAt);
    cloud.script(PATH, heads(head(11, "d", "c")), rewritten, rewritten);
    const fault = { chain: "costs", seq: 9, fault: "history_rewritten" };
    assert.deepEqual(faultOf(await checkLedger(machine.ports)), fault);
    assert.deepEqual(faultOf(await checkLedger(machine.ports)), fault);
    assert.equal(readLedgerWitness(machine.store.notes, "w1")?.heads.costs.seq, 9);
  });

  it("saves the first heads of a restored cloud, and accepts a restore in the same check", async () => {
    const first = restoredHeads(head(4, "d"), clock.now() - 24 * HOUR);
    cloud.script(PATH, first, first);
    assert.equal(faultOf(await checkLedger(machine.ports)), null);
    await machine.close();
    machine = await createMachine(cloud.url, { clock });
    const cut = restoredHeads(head(4, "d"), await saveTwoHeads());
    cloud.script(PATH, cut, cut);
    assert.equal(faultOf(await checkLedger(machine.ports, { accept: true })), null);
    assert.equal(readLedgerWitness(machine.store.notes, "w1")?.heads.costs.seq, 4);
  });

  it("asks again after a failure in the middle, and offers what it sent", async () => {
    const sample = sampleRecord();
    machine.store.records.insert([sample]);
    machine.store.delivery.settle({
      ...{ synced: [sample.requestId], skipped: [], quarantined: [] },
      at: clock.now(),
    });
    const { createdAt } = (await machine.ports.credentials.read()) as { createdAt: number };
    assert.ok(createdAt <= clock.now());
    cloud.script(PATH, heads(head(3, "d")), heads(head(5, "a", "d")));
    await checkLedger(machine.ports);
    await checkLedger(machine.ports);
    clock.advance(2 * HOUR);
    const answer = restoredHeads(head(3, "d"), clock.now());
    cloud.script(PATH, answer, { status: 500 }, answer, answer);
    assert.equal((await checkLedger(machine.ports)).kind, "failed");
    assert.equal(machine.store.delivery.countPending(), 0);
    const result = await checkLedger(machine.ports);
    assert.equal(result.kind === "compared" && result.witness.fault, null);
    assert.equal(machine.store.delivery.countPending(), 1);
    const [line] = machine.logged.filter(({ event }) => event === "cloud.restored");
    assert.equal(line?.fields.backup_at, clock.now());
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
