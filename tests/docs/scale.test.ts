import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Measured } from "../../bench/scale/measure-cloud.ts";
import { assumed, capacityOf, machinesFor, SETUPS } from "../../bench/scale/model.ts";
import { insertModel } from "../../bench/scale/write-page.ts";

const root = join(import.meta.dirname, "../..");
const measured = JSON.parse(readFileSync(join(root, "bench/scale/measured.json"), "utf8")) as Measured;

/** Costs of round numbers, so that the expected capacities can be computed by hand. */
const round: Measured = {
  ...measured,
  perRecord: { cloud: 0, postgres: 0 },
  perBatch: { cloud: 800, postgres: 500 },
  perPoll: { cloud: 0, postgres: 0 },
  bytesPerRecord: { requests: 100, indexes: 0, others: 0 },
};
const values = {
  ...assumed,
  ...{ recordsPerDay: 86_400, batchesPerRecord: 1, peak: 2, utilisation: 0.5, cores: 10 },
  ...{ months: 1, diskGigabytes: 1e9, costPerMonth: 86_400 * 30.4 },
};

describe("docs/scale.md", () => {
  it("has the model that npm run bench:scale writes", () => {
    const page = readFileSync(join(root, "docs/scale.md"), "utf8");
    assert.equal(insertModel(page, measured), page);
    assert.match(page, /\| one machine \| [\d,]+ \| /);
  });
});

describe("capacityOf()", () => {
  const [one, three, thirty] = SETUPS.map((setup) => capacityOf(setup, round, values));

  it("is the smallest limit of the machines", () => {
    // A daemon makes one record a second, two at the peak: 1,600 µs of the cloud and 1,000 µs of PostgreSQL. A machine has 5 s of each.
    assert.equal(Math.round(one?.daemons ?? 0), 1_923);
    assert.deepEqual([three?.daemons, three?.firstLimit], [5_000, "processors of PostgreSQL"]);
    assert.equal(three?.limits["processors of the cloud"], 6_250);
    assert.equal(thirty?.firstLimit, "processors of the coordinator");
    assert.equal(Math.round(one?.recordsPerSecond ?? 0), 1_923);
    // One machine costs a USD for each daemon's seconds of a month.
    assert.equal(Math.round((one?.usdPerMillionRecords ?? 0) * (one?.daemons ?? 0)), 1e6);
  });

  it("is the disk if that is full first", () => {
    const small = { ...values, diskGigabytes: 1 };
    const capacity = capacityOf({ name: "", machines: 1, cloud: 0, workers: 0 }, round, small);
    assert.equal(capacity.firstLimit, "disk");
    assert.equal(Math.round(capacity.daemons * 86_400 * 100 * 30.4), 0.7e9);
  });
});

describe("machinesFor()", () => {
  it("counts the machines that the limits ask for", () => {
    const need = machinesFor(10_000, round, values);
    assert.deepEqual([need.cloud, need.postgres, need.workers], [4, 2, 4]);
  });
});
