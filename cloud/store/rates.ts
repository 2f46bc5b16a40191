import { sql } from "kysely";
import type { Clock } from "../../core/ports/clock.ts";
import { judgePull } from "../../core/pricing/guard.ts";
import { createPriceBook, type PriceBook } from "../../core/pricing/price-book.ts";
import { type RateProblem, toPublishedRate } from "../../core/pricing/published-rates.ts";
import type { RateRow } from "../../core/pricing/rates.ts";
import type { CalendarDate, Millis } from "../../core/values/time.ts";
import type { PublishedRate, RatePull } from "../../core/wire/pricing-rates.ts";
import type { CloudDatabase } from "./open-database.ts";
import { inScope } from "./transaction.ts";

/** Stores rates, and leaves those that are already stored unchanged. Run it as the role that owns the tables. Returns how many rows were added. */
export async function seedRates(db: CloudDatabase, rows: readonly RateRow[], now: Millis): Promise<number> {
  const input = rows.map((rate, position) => ({
    source: rate.source,
    provenance_date: rate.provenanceDate,
    position,
    rate,
  }));
  const { rows: added } = await sql`
    insert into pricing_rates (source, provenance_date, position, added_at, rate)
    select source, provenance_date, position, ${now}::timestamptz, rate
    from json_to_recordset(${JSON.stringify(input)}::text::json)
      as r (source text, provenance_date date, position integer, rate jsonb)
    on conflict do nothing
    returning position`.execute(db);
  return added.length;
}

/** The result of publishing rates: all of them, or none and every problem. */
export type Publication =
  | { readonly ok: true; readonly rates: number }
  | { readonly ok: false; readonly problems: readonly RateProblem[] };

/**
 * Publishes rates that override the bundled ones, after the same checks as in each daemon. Run it as the role that owns the
 * tables.
 *
 * Decision: one publication a day. A rate's provenance is a date, so neither of two sets of one day would be the newer.
 */
export async function publishRates(
  db: CloudDatabase,
  pull: RatePull,
  { now, dryRun = false }: { readonly now: Millis; readonly dryRun?: boolean },
): Promise<Publication> {
  const verdict = judgePull(pull, (await loadRates(db, now)).book, now);
  if (!verdict.ok) return verdict;
  const { rows } = verdict;
  const [first] = rows;
  if (first === undefined) return refusal("rates", "must not be empty");
  const date = first.provenanceDate;
  return await db.transaction().execute(async (trx): Promise<Publication> => {
    // The second of two simultaneous publications finds the day taken.
    await sql`lock table pricing_rates in share row exclusive mode`.execute(trx);
    const taken = await trx
      .selectFrom("pricing_rates")
      .select("position")
      .where("source", "=", "auto")
      .where("provenance_date", "=", date)
      .limit(1)
      .execute();
    if (taken.length > 0) return refusal("published_at", `has published rates already: ${date}`);
    return { ok: true, rates: dryRun ? rows.length : await seedRates(trx, rows, now) };
  });
}

function refusal(field: string, problem: string): Publication {
  return { ok: false, problems: [{ provider: "", model: "", field, problem }] };
}

/** Rates in the form in which daemons load them. */
export interface PublishedRates {
  readonly published_at: string;
  readonly unit: "usd_per_million_tokens";
  readonly rates: readonly PublishedRate[];
}

/** The current rates: for pricing, and in published form. */
export interface CurrentRates {
  readonly book: PriceBook;
  /** Computed on the first call, since it takes 0.1 s and only daemons that load rates need it. */
  published(): PublishedRates;
}

/** Provides the current rates, cached for up to a minute. */
export interface RateSource {
  current(): Promise<CurrentRates>;
}

/** How long loaded rates are cached, milliseconds. Another instance's publication takes effect after at most that long. */
const FRESH_MS = 60_000;

/** Creates a source of the rates in the database: the newest bundled set, and all rates published over it. */
export function createRateSource(db: CloudDatabase, clock: Pick<Clock, "now">): RateSource {
  let loaded: { readonly at: Millis; readonly rates: Promise<CurrentRates> } | null = null;
  return {
    async current() {
      const now = clock.now();
      if (loaded === null || now - loaded.at >= FRESH_MS || now < loaded.at) {
        const rates = loadRates(db, now);
        const mine = { at: now, rates };
        loaded = mine;
        // A failure is not cached: the next caller tries again.
        rates.catch(() => {
          if (loaded === mine) loaded = null;
        });
      }
      return await loaded.rates;
    },
  };
}

async function loadRates(db: CloudDatabase, now: Millis): Promise<CurrentRates> {
  const rows = await inScope(db, {}, async (trx) => {
    const { rows } = await sql<{ provenance_date: CalendarDate; rate: RateRow }>`
      select provenance_date, rate from pricing_rates
      where source = 'auto'
        or provenance_date = (select max(provenance_date) from pricing_rates where source = 'bundled')
      order by source desc, provenance_date, position`.execute(trx);
    return rows;
  });
  const book = createPriceBook(rows.map(({ rate }) => rate));
  const dates = rows.map(({ provenance_date }) => provenance_date).sort();
  let published: PublishedRates | null = null;
  return {
    book,
    published: () =>
      (published ??= {
        published_at: `${dates.at(-1) ?? "1970-01-01"}T00:00:00.000Z`,
        unit: "usd_per_million_tokens",
        rates: publishedRates(book, now),
      }),
  };
}

/**
 * Returns the rates that apply now to each model under its own name. The published form cannot express a price that changes
 * with the hour of the day, so those are left out: daemons have them in their bundled rates.
 */
function publishedRates(book: PriceBook, now: Millis): PublishedRate[] {
  const found = new Set<RateRow>();
  for (const { provider, model } of book.rows) {
    const row = book.findPublished({ provider, model, requestedModel: null, at: now });
    if (row !== null && row.model === model && row.provider === provider && row.daily === null)
      found.add(row);
  }
  return [...found].map(toPublishedRate);
}
