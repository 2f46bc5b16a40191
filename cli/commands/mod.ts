import { BodiesShowCommand, BodiesStatsCommand, BodiesSweepCommand } from "./bodies.ts";
import { CloudBodiesStatusCommand } from "./cloud/bodies.ts";
import { CloudPrivacySetCommand, CloudPrivacyShowCommand } from "./cloud/privacy.ts";
import { CloudPrivacyAuditCommand } from "./cloud/privacy-audit.ts";
import { CloudQuarantineListCommand, CloudQuarantineRetryCommand } from "./cloud/quarantine.ts";
import { ExplainCommand } from "./explain.ts";
import { InitCommand } from "./init.ts";
import { PricingListCommand, PricingStatusCommand } from "./pricing.ts";
import { ProjectListCommand, ProjectReassignCommand, ProjectSetCommand } from "./project.ts";
import { PruneCommand } from "./prune.ts";
import { RecomputeCostsCommand } from "./recompute-costs.ts";
import { ReportCommand } from "./report.ts";
import { RunCommand } from "./run.ts";
import { StartCommand } from "./start.ts";
import { StatusCommand } from "./status.ts";
import { StopCommand } from "./stop.ts";
import { UninstallCommand } from "./uninstall.ts";
import { WipeCommand } from "./wipe.ts";

/** All commands, in the order of the help. */
export const commands = [
  InitCommand,
  UninstallCommand,
  StartCommand,
  StopCommand,
  StatusCommand,
  RunCommand,
  ReportCommand,
  ExplainCommand,
  ProjectListCommand,
  ProjectReassignCommand,
  ProjectSetCommand,
  BodiesShowCommand,
  BodiesStatsCommand,
  BodiesSweepCommand,
  CloudBodiesStatusCommand,
  CloudQuarantineListCommand,
  CloudQuarantineRetryCommand,
  CloudPrivacyShowCommand,
  CloudPrivacySetCommand,
  CloudPrivacyAuditCommand,
  PricingListCommand,
  PricingStatusCommand,
  RecomputeCostsCommand,
  PruneCommand,
  WipeCommand,
];
