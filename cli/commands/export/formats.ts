/** The formats of `meter export`. */
export const FORMAT_NAMES = ["jsonl", "csv", "parquet", "focus"] as const;

/** A format of `meter export`. */
export type FormatName = (typeof FORMAT_NAMES)[number];
