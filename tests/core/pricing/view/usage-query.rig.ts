import fc from "fast-check";
import type { UsageFilter, UsageQuery } from "../../../../core/pricing/view/usage-query.ts";
import {
  USAGE_BUCKETS,
  USAGE_COMPARISONS,
  USAGE_DIMENSIONS,
  USAGE_METRICS,
  USAGE_PERIODS,
} from "../../../../core/wire/usage.ts";

/** Dimensions that accept any text. */
const OPEN_DIMENSIONS = ["project", "branch", "model", "client", "session"] as const;

/** Everything that a URL must escape, and the empty value. */
const aValue = fc.string({
  unit: fc.constantFrom("a", "b", "&", "=", "+", "%", "#", "/", " ", ".", "é", "\u202e", "😀"),
  maxLength: 5,
});

const someFilters: fc.Arbitrary<UsageFilter[]> = fc
  .uniqueArray(fc.record({ dimension: fc.constantFrom(...OPEN_DIMENSIONS), not: fc.boolean() }), {
    maxLength: 4,
    selector: ({ dimension, not }) => `${dimension}${not}`,
  })
  .chain((filters) =>
    fc.tuple(
      ...filters.map(({ dimension, not }) =>
        fc
          .uniqueArray(aValue, { minLength: 1, maxLength: 3 })
          .map((values): UsageFilter => ({ dimension, not, values: values.sort() })),
      ),
    ),
  )
  .map((filters) =>
    filters.sort(
      (one, other) =>
        USAGE_DIMENSIONS.indexOf(one.dimension) - USAGE_DIMENSIONS.indexOf(other.dimension) ||
        Number(one.not) - Number(other.not),
    ),
  );

const aDimension = fc.option(fc.constantFrom(...USAGE_DIMENSIONS), { nil: null });

/** Any valid query. */
export const aUsageQuery: fc.Arbitrary<UsageQuery> = fc
  .record(
    {
      period: fc.oneof(
        fc.constantFrom(...USAGE_PERIODS),
        fc.record(
          {
            from: fc.constantFrom("2026-10-01", "2026-10-25T01:20:00Z"),
            to: fc.constantFrom("2026-11-02", null),
          },
          { noNullPrototype: true },
        ),
      ),
      tz: fc.constantFrom("UTC", "Europe/Berlin", "Asia/Kathmandu", null),
      compare: fc.constantFrom(...USAGE_COMPARISONS),
      metric: fc.constantFrom(...USAGE_METRICS),
      by: aDimension,
      thenBy: aDimension,
      bucket: fc.constantFrom("auto" as const, ...USAGE_BUCKETS),
      top: fc.integer({ min: 1, max: 4 }),
      filters: someFilters,
    },
    { noNullPrototype: true },
  )
  .map((query) => (query.by === null || query.by === query.thenBy ? { ...query, thenBy: null } : query));
