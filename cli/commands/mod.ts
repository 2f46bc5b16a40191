import { BodiesShowCommand, BodiesStatsCommand } from "./bodies.ts";
import { ExplainCommand } from "./explain.ts";
import { PricingListCommand, PricingStatusCommand } from "./pricing.ts";
import { ProjectSetCommand } from "./project.ts";
import { RecomputeCostsCommand } from "./recompute-costs.ts";
import { ReportCommand } from "./report.ts";
import { RunCommand } from "./run.ts";
import { StartCommand } from "./start.ts";
import { StatusCommand } from "./status.ts";
import { StopCommand } from "./stop.ts";

/** All commands, in the order of the help. */
export const commands = [
  StartCommand,
  StopCommand,
  StatusCommand,
  RunCommand,
  ReportCommand,
  ExplainCommand,
  ProjectSetCommand,
  BodiesShowCommand,
  BodiesStatsCommand,
  PricingListCommand,
  PricingStatusCommand,
  RecomputeCostsCommand,
];
