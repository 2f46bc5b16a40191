import type { ConsentRecord } from "../../core/privacy/consent/checkout-consent.ts";
import type { Millis } from "../../core/values/time.ts";
import type { CloudDatabase } from "./open-database.ts";
import { inScope } from "./transaction.ts";

/** Stores a checkout consent: one row per confirmation, never changed. */
export async function insertConsent(
  db: CloudDatabase,
  consentId: string,
  record: ConsentRecord,
  now: Millis,
): Promise<void> {
  await inScope(db, { userId: record.user_id }, async (trx) => {
    await trx
      .insertInto("checkout_consent_records")
      .values({ ...record, consent_id: consentId, timestamp: now })
      .execute();
  });
}
