import { sql } from "kysely";
import type { Clock } from "../../core/ports/clock.ts";
import {
  createPriceBook,
  judgePull,
  type PriceBook,
  type PublishedRate,
  type RateProblem,
  type RatePull,
  type RateRow,
  toPublishedRate,
} from "../../core/pricing/mod.ts";
import type { CalendarDate, Millis } from "../../core/time.ts";
import type { CloudDatabase } from "./open-database.ts";
import { inScope } from "./transaction.ts";

/**
 * Stores rates of one source and date, once: seeded again, they stay as they are. Run it as the role that owns the
 * tables. Returns how many rows were added.
 */
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

/** What became of a publication: all of it, or nothing and every reason. */
export type Publication =
  | { readonly ok: true; readonly rates: number }
  | { readonly ok: false; readonly problems: readonly RateProblem[] };

/**
 * Publishes rates over the bundled ones, judged as each daemon will judge them. Run it as the role that owns the tables.
 *
 * Decision: one publication a day, since a rate's provenance is a date and of two sets of one day none would be the newer.
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
    // Of two publications at the same moment the second finds the day taken.
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

/** The rates as they stand: for pricing, and as they are published. */
export interface CurrentRates {
  readonly book: PriceBook;
  readonly published: {
    readonly published_at: string;
    readonly unit: "usd_per_million_tokens";
    readonly rates: readonly PublishedRate[];
  };
}

/** Gives the current rates, from memory as long as they are fresh. */
export interface RateSource {
  current(): Promise<CurrentRates>;
}

/** How long loaded rates are used without looking, milliseconds: how late another instance's publishing is seen. */
const FRESH_MS = 60_000;

/** Rates from the database: the newest bundled set, and all that was published over it. */
export function createRateSource(db: CloudDatabase, clock: Pick<Clock, "now">): RateSource {
  let loaded: { readonly at: Millis; readonly rates: Promise<CurrentRates> } | null = null;
  return {
    async current() {
      const now = clock.now();
      if (loaded === null || now - loaded.at >= FRESH_MS || now < loaded.at) {
        const rates = loadRates(db, now);
        const mine = { at: now, rates };
        loaded = mine;
        // A failure is not kept: the next caller tries again.
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
  return {
    book,
    published: {
      published_at: `${dates.at(-1) ?? "1970-01-01"}T00:00:00.000Z`,
      unit: "usd_per_million_tokens",
      rates: publishedRates(book, now),
    },
  };
}

/**
 * What applies now to each model under its own name. A price that changes with the hour of the day can't be said in the
 * published form and is left out: a daemon has it from its own bundled rates.
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
