import type { Millis } from "../../core/values/time.ts";
import { type PagePeriod, readPagePeriod } from "../../pages/page-period.ts";
import type { View } from "../../pages/view.ts";
import { localZone } from "../store/days.ts";

/** Returns the period of a view in this machine's zone. */
export const readLocalPeriod = (view: View, now: Millis): PagePeriod =>
  readPagePeriod(view, { zone: localZone(), now });
