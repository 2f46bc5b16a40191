import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";

const CATEGORY = "Budgets";

export class BudgetSetCommand extends MeterCommand {
  static override paths = [["budget", "set"]];
  static override usage = Command.Usage({
    category: CATEGORY,
    description: "Set a budget",
    details: `
      The amount is in USD, tokens or requests. Without \`--block\`, the budget only warns. A scope option can be given more
      than once; a value that ends in \`*\` is the beginning of a name. A budget in USD counts what you spend; what a plan
      covers is counted only with \`--billing plan\`, and is then at API prices. A budget of that name is replaced.
    `,
    examples: [
      ["Warn at 50, 80 and 100 % of 200 USD a month", "meter budget set monthly '200 USD'"],
      [
        "Refuse the calls of a project after 10 USD a day",
        "meter budget set shop '10 USD' --period day --project shop --block",
      ],
      ["Give each session 5 USD", "meter budget set session '5 USD' --period session --block"],
      [
        "Stop a loop for 10 minutes",
        "meter budget set loop '60 requests' --period 1m --cool-down 10m --block",
      ],
    ],
  });

  name = Option.String({ required: true });
  amount = Option.String({ required: true });
  period = Option.String("--period", {
    description: "hour, day, week, month (default), session, total, or a rolling duration such as 24h",
  });
  zone = Option.String("--zone", { description: "The time zone of the period. Default: this machine's" });
  project = Option.Array("--project", { description: "Count only this project" });
  branch = Option.Array("--branch", { description: "Count only this Git branch" });
  provider = Option.Array("--provider", { description: "Count only this provider" });
  model = Option.Array("--model", { description: "Count only this model" });
  client = Option.Array("--client", { description: "Count only this program" });
  session = Option.Array("--session", { description: "Count only this session" });
  agent = Option.Array("--agent", { description: "Count only this sub-agent" });
  machine = Option.Array("--machine", { description: "Count only this machine" });
  person = Option.Array("--person", { description: "Count only this user" });
  billing = Option.Array("--billing", { description: "Count only metered, plan, credits, free or unknown" });
  thresholds = Option.String("--thresholds", {
    description: "Warn at these percentages. Default: 50,80,100",
  });
  block = Option.Boolean("--block", false, { description: "Refuse calls once the amount is used up" });
  onExceed = Option.String("--on-exceed", {
    description:
      "finish (default) or cut. With --block: cut also ends calls in flight once the amount is used up",
  });
  reserve = Option.Boolean("--reserve", false, {
    description: "With --block: refuse a call also if it may use more than is left",
  });
  failClosed = Option.Boolean("--fail-closed", false, {
    description: "With --block: also refuse calls that can't be checked in time",
  });
  coolDown = Option.String("--cool-down", {
    description: "Make it a rate guard: once the amount is used up, refuse calls for this long, such as 10m",
  });
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { setBudget } = await import("./set-budget.ts");
    await setBudget(this.commandContext, this);
  }
}

export class BudgetListCommand extends MeterCommand {
  static override paths = [["budget", "list"], ["budget"]];
  static override usage = Command.Usage({
    category: CATEGORY,
    description: "List the budgets with what is spent, in flight and left",
    examples: [["List the budgets", "meter budget list"]],
  });

  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { listBudgets } = await import("./list-budgets.ts");
    await listBudgets(this.commandContext, this);
  }
}

export class BudgetShowCommand extends MeterCommand {
  static override paths = [["budget", "show"]];
  static override usage = Command.Usage({
    category: CATEGORY,
    description: "Show how a budget's sum was counted, and its history",
    examples: [["Explain a budget", "meter budget show monthly"]],
  });

  name = Option.String({ required: true });
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { showBudget } = await import("./show-budget.ts");
    await showBudget(this.commandContext, this);
  }
}

export class BudgetPauseCommand extends MeterCommand {
  static override paths = [["budget", "pause"]];
  static override usage = Command.Usage({
    category: CATEGORY,
    description: "Stop a budget's warnings and refusals; it still counts",
    examples: [["Pause a budget", "meter budget pause monthly"]],
  });

  name = Option.String({ required: true });

  protected override async perform(): Promise<void> {
    const { pauseBudget } = await import("./change-budget.ts");
    await pauseBudget(this.commandContext, this.name, true);
  }
}

export class BudgetResumeCommand extends MeterCommand {
  static override paths = [["budget", "resume"]];
  static override usage = Command.Usage({
    category: CATEGORY,
    description: "End a pause or a lift of a budget",
    examples: [["Resume a budget", "meter budget resume monthly"]],
  });

  name = Option.String({ required: true });

  protected override async perform(): Promise<void> {
    const { pauseBudget } = await import("./change-budget.ts");
    await pauseBudget(this.commandContext, this.name, false);
  }
}

export class BudgetRemoveCommand extends MeterCommand {
  static override paths = [["budget", "remove"]];
  static override usage = Command.Usage({
    category: CATEGORY,
    description: "Remove a budget that was set on the command line",
    examples: [["Remove a budget", "meter budget remove monthly"]],
  });

  name = Option.String({ required: true });

  protected override async perform(): Promise<void> {
    const { removeBudget } = await import("./change-budget.ts");
    await removeBudget(this.commandContext, this.name);
  }
}

export class BudgetLiftCommand extends MeterCommand {
  static override paths = [["budget", "lift"]];
  static override usage = Command.Usage({
    category: CATEGORY,
    description: "Let calls pass a budget for a while",
    details: "The budget still counts and warns. `meter budget show` lists who lifted it, when and why.",
    examples: [["Continue for an hour", "meter budget lift monthly --for 1h --reason 'release day'"]],
  });

  name = Option.String({ required: true });
  for = Option.String("--for", { required: true, description: "How long, such as 30m or 1h" });
  reason = Option.String("--reason", { description: "Why, for the record" });

  protected override async perform(): Promise<void> {
    const { liftBudget } = await import("./change-budget.ts");
    await liftBudget(this.commandContext, this.name, { for: this.for, reason: this.reason });
  }
}
