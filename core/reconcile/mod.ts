/**
 * The daemon against the cloud. What was delivered (requests, tokens, the cost that the daemon reported) must agree
 * exactly; the cloud's own cost is judged against the daemon's: zero is good, under 0.5% is tolerated, anything else is
 * to be looked into. Days that differ come with their causes and the models that make the difference up.
 *
 * ```ts
 * import { judgeVariance } from "./mod.ts";
 *
 * console.log(judgeVariance(1_000_000n, 1_004_999n)); // "tolerance"
 * console.log(judgeVariance(1_000_000n, 1_005_000n)); // "investigate"
 * ```
 */
export {
  type CloudDay,
  type CloudTotals,
  type DayVariance,
  type DeliveredTotals,
  type LocalModelDay,
  type ModelVariance,
  type Reconciliation,
  reconcile,
  sumDelivered,
  type VarianceCause,
} from "./reconcile.ts";
export { judgeVariance, VARIANCE_TOLERANCE_PER_MILLE, type VarianceVerdict } from "./variance.ts";
