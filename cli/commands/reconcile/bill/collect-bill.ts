import {
  addBilledLine,
  type BilledDays,
  createBilledDays,
} from "../../../../core/pricing/statements/bill-rows.ts";
import type { StatementFormat, StatementLine } from "../../../../core/pricing/statements/statement-line.ts";
import type { CalendarDate } from "../../../../core/values/time.ts";
import { CommandFailure } from "../../../program/exit-codes.ts";

/** Which lines are compared. */
export interface BillSelection {
  readonly from: CalendarDate | null;
  readonly to: CalendarDate | null;
  readonly key: string | null;
}

/** The lines of all files of one statement. */
export interface CollectedBill {
  readonly days: BilledDays;
  /** What the files state together. */
  readonly format: StatementFormat;
  /** The names of the formats. */
  readonly names: ReadonlySet<string>;
  readonly from: CalendarDate;
  readonly to: CalendarDate;
}

/** Sums the lines of one or several files, and refuses those that would be counted twice. */
export class BillCollector {
  readonly #selection: BillSelection;
  readonly #days = createBilledDays();
  readonly #formats = new Map<string, StatementFormat>();
  readonly #otherKeys = new Set<string>();
  /** The file that stated the cost, or the usage, of each day. */
  readonly #origins = new Map<string, string>();
  #from: CalendarDate | null = null;
  #to: CalendarDate | null = null;

  constructor(selection: BillSelection) {
    this.#selection = selection;
  }

  add(file: string, line: StatementLine, format: StatementFormat): void {
    const { from, to, key } = this.#selection;
    this.#checkProvider(file, format);
    if ((from !== null && line.date < from) || (to !== null && line.date > to)) return;
    if (key !== null && line.key !== key) {
      if (line.key !== null && this.#otherKeys.size < 20) this.#otherKeys.add(line.key);
      return;
    }
    this.#checkOrigin(file, line.date, format);
    if (this.#from === null || line.date < this.#from) this.#from = line.date;
    if (this.#to === null || line.date > this.#to) this.#to = line.date;
    addBilledLine(this.#days, line, format);
  }

  /** Returns the sums. Throws a `CommandFailure` if nothing was added. */
  finish(): CollectedBill {
    const formats = [...this.#formats.values()];
    const [first] = formats;
    if (this.#from === null || this.#to === null || first === undefined)
      throw new CommandFailure(this.#describeNothing());
    const { from, to } = this.#selection;
    const keyNames = [...new Set(formats.flatMap(({ keyIs }) => keyIs ?? []))];
    const statesCost = formats.some(({ states }) => states !== "usage");
    return {
      days: this.#days,
      names: new Set(this.#formats.keys()),
      from: from ?? this.#from,
      to: to ?? this.#to,
      format: {
        ...first,
        states: statesCost ? "cost" : "usage",
        keyIs: keyNames.length > 1 ? "key" : (keyNames[0] ?? null),
        omittedTiers: formats.flatMap(({ omittedTiers }) => omittedTiers),
      },
    };
  }

  #describeNothing(): string {
    if (this.#otherKeys.size > 0)
      return `No line has the key ${this.#selection.key}. The statement has: ${[...this.#otherKeys].join(", ")}.`;
    return "The statement has no lines of this period.";
  }

  #checkProvider(file: string, format: StatementFormat): void {
    const [known] = this.#formats.values();
    if (known !== undefined && known.provider !== format.provider)
      throw new CommandFailure(
        `${file} is of ${format.provider}, but another file is of ${known.provider}. Compare one provider at a time.`,
      );
    this.#formats.set(format.name, format);
  }

  #checkOrigin(file: string, date: CalendarDate, { states }: StatementFormat): void {
    for (const what of states === "both" ? (["cost", "usage"] as const) : [states]) {
      const origin = this.#origins.get(`${what} ${date}`);
      if (origin === undefined) this.#origins.set(`${what} ${date}`, file);
      else if (origin !== file)
        throw new CommandFailure(
          `${origin} and ${file} both state the ${what} of ${date}, which would count it twice.`,
        );
    }
  }
}
