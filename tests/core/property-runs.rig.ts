import process from "node:process";

/** `METER_PROPERTY_RUNS=5`, as in `npm run nightly`, runs each property 5 times as often; too slow for the checks. */
const FACTOR = Number(process.env.METER_PROPERTY_RUNS ?? 1);

/** Returns how often a property runs that costs CPU time: `usual` times in the checks. */
export const propertyRuns = (usual: number): number => usual * FACTOR;
