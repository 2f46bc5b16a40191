import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  afterOffer,
  type Connection,
  learnRestore,
  OFFER_MARGIN_MS,
  type RestoreState,
  type StatedRestore,
} from "../../../../core/delivery/restore/restored-cloud.ts";
import { DAY_MS } from "../../../../core/values/time.ts";

const NOW = Date.UTC(2026, 10, 27, 12);
const connection: Connection = { workspaceId: "w1", since: 0 };
const stated = (generation: string, backupAt: number, restoredAt = NOW): StatedRestore => ({
  ...{ generation, backupAt, restoredAt, serverTime: NOW },
});

describe("learnRestore()", () => {
  it("offers what was sent since a day before the backup, by the machine's clock", () => {
    const late = NOW + 90_000;
    assert.deepEqual(learnRestore(null, stated("g1", NOW - 5 * DAY_MS), connection, late), {
      workspaceId: "w1",
      generation: "g1",
      backupAt: late - 5 * DAY_MS,
      offer: { from: late - 5 * DAY_MS - OFFER_MARGIN_MS, through: null },
    });
  });

  it("changes nothing for a restore that it knows", () => {
    const known = learnRestore(null, stated("g1", NOW), connection, NOW);
    const offered = afterOffer(known, null);
    assert.equal(learnRestore(offered, stated("g1", NOW), connection, NOW + 1), offered);
  });

  it("offers nothing that was sent before the machine was connected to the workspace", () => {
    const since = NOW - 3_600_000;
    const state = learnRestore(null, stated("g1", NOW - DAY_MS), { ...connection, since }, NOW);
    assert.equal(state.offer?.from, since);
    const other = learnRestore(state, stated("g1", NOW - DAY_MS), { workspaceId: "w2", since: NOW + 1 }, NOW);
    assert.deepEqual(other, { workspaceId: "w2", generation: "g1", backupAt: null, offer: null });
  });

  it("starts over from the earlier instant if the cloud is restored again during an offer", () => {
    const first = afterOffer(learnRestore(null, stated("g1", NOW - 9 * DAY_MS), connection, NOW), 400);
    const second = learnRestore(first, stated("g2", NOW), connection, NOW + 5);
    assert.deepEqual(second.offer, { from: first.offer?.from, through: null });
  });

  it("continues an offer where the store says, and ends it", () => {
    const state = learnRestore(null, stated("g1", NOW), connection, NOW);
    const next = afterOffer(state, 12);
    assert.deepEqual(next.offer, { ...state.offer, through: 12 });
    assert.equal(afterOffer(next, null).offer, null);
    assert.equal(afterOffer(afterOffer(next, null), 3).offer, null);
  });
});

/** A cloud with its records and the restores it had, and the backups that were made of it. */
interface Cloud {
  records: Set<number>;
  restores: { generation: string; backupAt: number; restoredAt: number }[];
}

interface Machine {
  /** When each record was marked as sent; null while it is pending. */
  sent: (number | null)[];
  state: RestoreState | null;
  /** How far the clock is ahead of the cloud's. */
  ahead: number;
}

type Step =
  | { readonly kind: "record" | "send" | "learn" | "offer" | "crash"; readonly machine: number }
  | { readonly kind: "back_up" }
  | { readonly kind: "restore"; readonly backup: number }
  | { readonly kind: "wait"; readonly ms: number };

const machines = 2;
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constantFrom("record", "send", "learn", "offer", "crash"),
    machine: fc.nat(machines - 1),
  }),
  fc.record({ kind: fc.constant("back_up") }),
  fc.record({ kind: fc.constant("restore"), backup: fc.nat(5) }),
  fc.record({ kind: fc.constant("wait"), ms: fc.integer({ min: 1, max: 3 * DAY_MS }) }),
);

/** The world of the property: a cloud, its backups, and machines that send to it. */
class World {
  now = NOW;
  cloud: Cloud = { records: new Set(), restores: [] };
  backups: { at: number; cloud: Cloud }[] = [];
  machines: Machine[];
  made = 0;

  constructor(ahead: readonly number[]) {
    this.machines = ahead.map((each) => ({ sent: [], state: null, ahead: each }));
  }

  perform(one: Step): void {
    this.now += 1;
    if (one.kind === "wait") this.now += one.ms;
    else if (one.kind === "back_up") this.backups.push({ at: this.now, cloud: structuredClone(this.cloud) });
    else if (one.kind === "restore") this.restore(one.backup);
    else this.act(one.kind, one.machine);
  }

  restore(chosen: number): void {
    const backup = this.backups[chosen % Math.max(1, this.backups.length)];
    if (backup === undefined) return;
    this.cloud = structuredClone(backup.cloud);
    this.cloud.restores.push({
      ...{ generation: `g${this.made++}`, backupAt: backup.at, restoredAt: this.now },
    });
  }

  act(kind: Exclude<Step["kind"], "back_up" | "restore" | "wait">, index: number): void {
    const machine = this.machines[index] ?? assert.fail();
    const clock = this.now + machine.ahead;
    const isOwn = (record: number) => record % machines === index;
    if (kind === "record") machine.sent.push(null);
    if (kind === "send") {
      for (const [at, sent] of machine.sent.entries()) {
        if (sent !== null) continue;
        this.cloud.records.add(at * machines + index);
        machine.sent[at] = clock;
      }
    }
    if (kind === "learn") {
      const known = this.cloud.restores.findIndex((each) => each.generation === machine.state?.generation);
      const later = this.cloud.restores.slice(known + 1);
      const last = later.at(-1);
      if (last === undefined) return;
      const backupAt = Math.min(...later.map((each) => each.backupAt));
      machine.state = learnRestore(
        machine.state,
        { ...last, backupAt, serverTime: this.now },
        { workspaceId: "w1", since: 0 },
        clock,
      );
    }
    if (kind === "offer" && machine.state?.offer != null) {
      const { from, through } = machine.state.offer;
      const last = (through ?? machine.sent.length) - 1;
      if ((machine.sent[last] ?? Number.NEGATIVE_INFINITY) >= from) machine.sent[last] = null;
      machine.state = afterOffer(machine.state, last > 0 ? last : null);
    }
    if (kind === "crash") machine.state = JSON.parse(JSON.stringify(machine.state)) as RestoreState | null;
    assert.ok(
      [...this.cloud.records].every((record) => !isOwn(record) || record / machines < machine.sent.length),
    );
  }
}

describe("a cloud that is restored", () => {
  it("has every record once, after any order of sends, backups, restores and crashes", () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60, size: "max" }),
        fc.array(fc.integer({ min: -3_600_000, max: 3_600_000 }), {
          minLength: machines,
          maxLength: machines,
        }),
        (steps, ahead) => {
          const world = new World(ahead);
          for (const each of steps) world.perform(each);
          for (let machine = 0; machine < machines; machine += 1) {
            world.perform({ kind: "learn", machine });
            while (world.machines[machine]?.state?.offer != null) world.perform({ kind: "offer", machine });
            world.perform({ kind: "send", machine });
          }
          const made = world.machines.reduce((sum, { sent }) => sum + sent.length, 0);
          assert.equal(world.cloud.records.size, made);
        },
      ),
      { numRuns: 500 },
    );
  });
});
