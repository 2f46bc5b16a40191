import * as v from "valibot";

/** The request of `PATCH …/weekly-summary`, and the response of `GET`: whether the caller gets the email about the workspace. */
export const weeklySummarySchema = v.object({ enabled: v.boolean() });
